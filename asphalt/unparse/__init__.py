"""IR to text: untouched statements verbatim, new ones through one Fortran writer."""
