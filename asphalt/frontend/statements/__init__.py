"""What each statement means: a logical line of Fortran to a ``What`` of the IR."""
