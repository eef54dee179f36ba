"""IR to text: untouched statements verbatim, new ones through one Fortran writer.

Which statements are new is decided in ``transforms``.
"""
