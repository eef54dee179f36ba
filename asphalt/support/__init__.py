"""Small tools that know neither Fortran nor MPI: fixed points, three-valued logic, word sets."""
