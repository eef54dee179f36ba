"""What users set: settings, passes, assumptions, limits; and the errors that users can cause.

Nothing here reads a Fortran source.
"""
