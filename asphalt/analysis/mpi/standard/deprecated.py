"""Deprecated and removed procedures (MPI-4.0 chapters 16 and 17)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    ADDRESS_ONLY,
    BLOCKING,
    CHANGES_OBJECT,
    LOCAL,
    QUERIES,
    USES_ENVIRONMENT,
    row,
)

_ERROR = ("ierror", "ERROR_CODE", "out")
_ADDRESS = (("location", "BUFFER", "in"), ("address", "DISPLACEMENT", "out"), _ERROR)
_ERRHANDLER_CREATE = (("function", "FUNCTION", "in"), ("errhandler", "ERRHANDLER", "out"), _ERROR)
_ERRHANDLER_GET = (("comm", "COMMUNICATOR", "in"), ("errhandler", "ERRHANDLER", "out"), _ERROR)
_ERRHANDLER_SET = (("comm", "COMMUNICATOR", "in"), ("errhandler", "ERRHANDLER", "in"), _ERROR)
_TYPE_EXTENT = (("datatype", "DATATYPE", "in"), ("extent", "NUM_BYTES", "out"), _ERROR)
_TYPE_LB = (("datatype", "DATATYPE", "in"), ("displacement", "NUM_BYTES", "out"), _ERROR)
_TYPE_UB = (("datatype", "DATATYPE", "in"), ("displacement", "NUM_BYTES", "out"), _ERROR)
_TYPE_HVECTOR = (
    ("count", "DTYPE_NUM_ELEM", "in"),
    ("blocklength", "DTYPE_NUM_ELEM", "in"),
    ("stride", "DTYPE_STRIDE_BYTES", "in"),
    ("oldtype", "DATATYPE", "in"),
    ("newtype", "DATATYPE", "out"),
    _ERROR,
)
_TYPE_HINDEXED = (
    ("count", "DTYPE_NUM_ELEM", "in"),
    ("array_of_blocklengths", "DTYPE_NUM_ELEM", "in"),
    ("array_of_displacements", "DISPLACEMENT", "in"),
    ("oldtype", "DATATYPE", "in"),
    ("newtype", "DATATYPE", "out"),
    _ERROR,
)
_TYPE_STRUCT = (
    ("count", "DTYPE_NUM_ELEM", "in"),
    ("array_of_blocklengths", "DTYPE_NUM_ELEM", "in"),
    ("array_of_displacements", "DISPLACEMENT", "in"),
    ("array_of_types", "DATATYPE", "in"),
    ("newtype", "DATATYPE", "out"),
    _ERROR,
)

ROWS = (
    # 16.1 Deprecated since MPI-2.0
    row("MPI_Keyval_create", "16.1", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Keyval_free", "16.1", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Attr_put", "16.1", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Attr_get", "16.1", BLOCKING, LOCAL),
    row("MPI_Attr_delete", "16.1", BLOCKING, LOCAL, CHANGES_OBJECT),
    # 16.3 Deprecated since MPI-4.0
    row("MPI_Info_get", "16.3", BLOCKING, LOCAL),
    row("MPI_Info_get_valuelen", "16.3", BLOCKING, LOCAL),
    row("MPI_Sizeof", "16.3", BLOCKING, LOCAL, ADDRESS_ONLY, QUERIES),
    # 17.1 Removed
    row(
        "MPI_Address",
        "17.1",
        BLOCKING,
        LOCAL,
        USES_ENVIRONMENT,
        ADDRESS_ONLY,
        mpi_1_arguments=_ADDRESS,
    ),
    row("MPI_Errhandler_create", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_ERRHANDLER_CREATE),
    row("MPI_Errhandler_get", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_ERRHANDLER_GET),
    row(
        "MPI_Errhandler_set",
        "17.1",
        BLOCKING,
        LOCAL,
        CHANGES_OBJECT,
        mpi_1_arguments=_ERRHANDLER_SET,
    ),
    row("MPI_Type_extent", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_EXTENT),
    row("MPI_Type_lb", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_LB),
    row("MPI_Type_ub", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_UB),
    row("MPI_Type_hvector", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_HVECTOR),
    row("MPI_Type_hindexed", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_HINDEXED),
    row("MPI_Type_struct", "17.1", BLOCKING, LOCAL, mpi_1_arguments=_TYPE_STRUCT),
)
