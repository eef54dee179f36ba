"""What users set: settings, passes, assumptions, limits; and the errors that they can cause.

Nothing here reads a Fortran source.
"""
