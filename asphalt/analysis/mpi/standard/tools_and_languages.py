"""External interfaces, tools and language bindings (MPI-4.0 chapters 13, 15 and 19)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    BLOCKING,
    CHANGES_OBJECT,
    LOCAL,
    NONBLOCKING,
    QUERIES,
    USES_ENVIRONMENT,
    row,
)

ROWS = (
    # 13.2 Generalized requests
    row("MPI_Grequest_start", "13.2", NONBLOCKING, USES_ENVIRONMENT),
    row("MPI_Grequest_complete", "13.2", BLOCKING, CHANGES_OBJECT),
    # 13.3 Setting a status
    row("MPI_Status_set_elements", "13.3", BLOCKING, LOCAL, QUERIES),
    row("MPI_Status_set_elements_x", "13.3", BLOCKING, QUERIES),
    row("MPI_Status_set_cancelled", "13.3", BLOCKING, LOCAL, QUERIES),
    row("MPI_Status_set_source", "13.3", BLOCKING, QUERIES),
    row("MPI_Status_set_tag", "13.3", BLOCKING, QUERIES),
    row("MPI_Status_set_error", "13.3", BLOCKING, QUERIES),
    # 15.2 Profiling
    row("MPI_Pcontrol", "15.2.4", BLOCKING, LOCAL, USES_ENVIRONMENT),
    # 19.1 Fortran
    row("MPI_F_sync_reg", "19.1.8", BLOCKING, LOCAL, QUERIES),
    row("MPI_Type_create_f90_integer", "19.1.9", BLOCKING, LOCAL, QUERIES),
    row("MPI_Type_create_f90_real", "19.1.9", BLOCKING, LOCAL, QUERIES),
    row("MPI_Type_create_f90_complex", "19.1.9", BLOCKING, LOCAL, QUERIES),
    row("MPI_Type_match_size", "19.1.9", BLOCKING, LOCAL, QUERIES),
    # 19.3 Language interoperability
    row("MPI_Status_f2f08", "19.3.5", BLOCKING, LOCAL, QUERIES),
    row("MPI_Status_f082f", "19.3.5", BLOCKING, LOCAL, QUERIES),
    # MPI-5.0 chapter 20 Application binary interface
    row("MPI_Abi_get_version", "MPI-5.0, 20", BLOCKING, QUERIES),
    row("MPI_Abi_get_info", "MPI-5.0, 20", BLOCKING, QUERIES),
    row("MPI_Abi_get_fortran_info", "MPI-5.0, 20", BLOCKING, QUERIES),
    row("MPI_Abi_set_fortran_info", "MPI-5.0, 20", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Abi_get_fortran_booleans", "MPI-5.0, 20", BLOCKING, QUERIES),
    row("MPI_Abi_set_fortran_booleans", "MPI-5.0, 20", BLOCKING, USES_ENVIRONMENT),
)
