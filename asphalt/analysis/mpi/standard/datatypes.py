"""Datatypes, addresses and packing (MPI-4.0 chapter 5)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    ADDRESS_ONLY,
    BLOCKING,
    FUNCTIONAL,
    LOCAL,
    QUERIES,
    USES_ENVIRONMENT,
    row,
)

ROWS = (
    # 5.1 Derived datatypes
    row("MPI_Type_contiguous", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_vector", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_hvector", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_indexed", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_hindexed", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_indexed_block", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_hindexed_block", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_struct", "5.1.2", BLOCKING, LOCAL),
    row("MPI_Type_create_subarray", "5.1.3", BLOCKING, LOCAL),
    row("MPI_Type_create_darray", "5.1.4", BLOCKING, LOCAL),
    row("MPI_Get_address", "5.1.5", BLOCKING, LOCAL, USES_ENVIRONMENT, ADDRESS_ONLY),
    row("MPI_Aint_add", "5.1.5", BLOCKING, LOCAL, QUERIES),
    row("MPI_Aint_diff", "5.1.5", BLOCKING, LOCAL, QUERIES),
    row("MPI_Type_size", "5.1.5", BLOCKING, LOCAL, FUNCTIONAL),
    row("MPI_Type_size_x", "5.1.5", BLOCKING, LOCAL),
    row("MPI_Type_get_extent", "5.1.7", BLOCKING, LOCAL, FUNCTIONAL),
    row("MPI_Type_get_extent_x", "5.1.7", BLOCKING, LOCAL),
    row("MPI_Type_create_resized", "5.1.7", BLOCKING, LOCAL),
    row("MPI_Type_get_true_extent", "5.1.8", BLOCKING, LOCAL),
    row("MPI_Type_get_true_extent_x", "5.1.8", BLOCKING, LOCAL),
    row("MPI_Type_commit", "5.1.9", BLOCKING, LOCAL),
    row("MPI_Type_free", "5.1.9", BLOCKING, LOCAL),
    row("MPI_Type_dup", "5.1.10", BLOCKING, LOCAL),
    row("MPI_Get_elements", "5.1.11", BLOCKING, LOCAL),
    row("MPI_Get_elements_x", "5.1.11", BLOCKING, LOCAL),
    row("MPI_Type_get_envelope", "5.1.13", BLOCKING, LOCAL),
    row("MPI_Type_get_contents", "5.1.13", BLOCKING, LOCAL),
    # 5.2 Pack and unpack
    row("MPI_Pack", "5.2", BLOCKING, LOCAL),
    row("MPI_Unpack", "5.2", BLOCKING, LOCAL),
    row("MPI_Pack_size", "5.2", BLOCKING, LOCAL),
    # 5.3 The canonical representation
    row("MPI_Pack_external", "5.3", BLOCKING, LOCAL),
    row("MPI_Unpack_external", "5.3", BLOCKING, LOCAL),
    row("MPI_Pack_external_size", "5.3", BLOCKING, LOCAL, QUERIES),
)
