"""Small helpers that know neither Fortran nor MPI: fixed points, three-valued logic, words."""
