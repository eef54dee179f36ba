"""What the MPI standard says about its procedures, but its machine-readable form does not.

Rows of names with the section of MPI-4.0 that says it.  A name that is in no row of a fact is taken
not to have it; the facts are chosen so that this is the careful answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.support.word_sets import words


@dataclass(frozen=True, slots=True)
class FactRow:
    """Procedures (folded, without ``mpi_``) that share a fact, and the section that states it."""

    names: frozenset[str]
    section: str


# All processes of the group of the communicator (window, file) must call it (2.4, "collective").
COLLECTIVE = (
    FactRow(words("barrier bcast gather gatherv scatter scatterv allgather allgatherv"), "6.3-6.7"),
    FactRow(words("alltoall alltoallv alltoallw"), "6.8"),
    FactRow(words("reduce allreduce reduce_scatter_block reduce_scatter scan exscan"), "6.9-6.11"),
    FactRow(
        words(
            "ibarrier ibcast igather igatherv iscatter iscatterv iallgather iallgatherv"
            " ialltoall ialltoallv ialltoallw ireduce iallreduce ireduce_scatter_block"
            " ireduce_scatter iscan iexscan"
        ),
        "6.12",
    ),
    FactRow(
        words(
            "barrier_init bcast_init gather_init gatherv_init scatter_init scatterv_init"
            " allgather_init allgatherv_init alltoall_init alltoallv_init alltoallw_init"
            " reduce_init allreduce_init reduce_scatter_block_init reduce_scatter_init"
            " scan_init exscan_init"
        ),
        "6.13",
    ),
    FactRow(
        words(
            "comm_dup comm_dup_with_info comm_idup comm_idup_with_info comm_create"
            " comm_create_group comm_create_from_group comm_split comm_split_type comm_free"
        ),
        "7.4",
    ),
    FactRow(words("intercomm_create intercomm_create_from_groups intercomm_merge"), "7.6"),
    FactRow(words("cart_create graph_create dist_graph_create dist_graph_create_adjacent"), "8.5"),
    FactRow(words("cart_sub"), "8.5.6"),
    FactRow(
        words(
            "neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv"
            " neighbor_alltoallw ineighbor_allgather ineighbor_allgatherv ineighbor_alltoall"
            " ineighbor_alltoallv ineighbor_alltoallw neighbor_allgather_init"
            " neighbor_allgatherv_init neighbor_alltoall_init neighbor_alltoallv_init"
            " neighbor_alltoallw_init"
        ),
        "8.6-8.8",
    ),
    FactRow(words("init init_thread finalize"), "11.2"),
    FactRow(
        words("comm_spawn comm_spawn_multiple comm_accept comm_connect comm_disconnect comm_join"),
        "11.8-11.10",
    ),
    FactRow(
        words("win_create win_allocate win_allocate_shared win_create_dynamic win_free win_fence"),
        "12.2, 12.5.1",
    ),
    FactRow(
        words(
            "file_open file_close file_set_size file_preallocate file_set_info file_set_view"
            " file_read_at_all file_write_at_all file_iread_at_all file_iwrite_at_all"
            " file_read_all file_write_all file_iread_all file_iwrite_all file_seek_shared"
            " file_read_ordered file_write_ordered file_read_at_all_begin file_read_at_all_end"
            " file_write_at_all_begin file_write_at_all_end file_read_all_begin"
            " file_read_all_end file_write_all_begin file_write_all_end file_read_ordered_begin"
            " file_read_ordered_end file_write_ordered_begin file_write_ordered_end"
            " file_set_atomicity file_sync"
        ),
        "14.2-14.6",
    ),
)

# Returns without any other process having to do anything (2.4, "local").
LOCAL = (
    FactRow(
        words(
            "isend ibsend issend irsend irecv imrecv isendrecv isendrecv_replace bsend"
            " buffer_attach send_init bsend_init ssend_init rsend_init recv_init start startall"
            " test testany testall testsome iprobe improbe request_free request_get_status"
            " cancel test_cancelled get_count"
        ),
        "3.7-3.9",
    ),
    FactRow(
        words(
            "type_contiguous type_vector type_create_hvector type_indexed type_create_hindexed"
            " type_create_indexed_block type_create_hindexed_block type_create_struct"
            " type_create_subarray type_create_darray type_create_resized type_dup type_commit"
            " type_free type_size type_size_x type_get_extent type_get_extent_x"
            " type_get_true_extent type_get_true_extent_x type_get_envelope type_get_contents"
            " get_address aint_add aint_diff get_elements get_elements_x pack unpack pack_size"
            " pack_external unpack_external pack_external_size sizeof type_match_size"
            " type_create_f90_real type_create_f90_complex type_create_f90_integer type_extent"
            " type_hindexed type_hvector type_struct type_lb type_ub address"
        ),
        "5.1-5.3, 19.1.5",
    ),
    FactRow(
        words(
            "group_size group_rank group_translate_ranks group_compare comm_group group_union"
            " group_intersection group_difference group_incl group_excl group_range_incl"
            " group_range_excl group_free comm_size comm_rank comm_compare comm_test_inter"
            " comm_remote_size comm_remote_group comm_get_attr comm_set_attr comm_delete_attr"
            " comm_create_keyval comm_free_keyval attr_get attr_put attr_delete keyval_create"
            " keyval_free comm_set_name comm_get_name op_create op_free op_commutative"
            " reduce_local"
        ),
        "7.3-7.8",
    ),
    FactRow(
        words(
            "topo_test cart_get cart_rank cart_coords cart_shift cartdim_get graph_get"
            " graphdims_get graph_neighbors graph_neighbors_count dist_graph_neighbors"
            " dims_create dist_graph_neighbors_count"
        ),
        "8.5",
    ),
    FactRow(
        words(
            "get_version get_library_version get_processor_name alloc_mem free_mem"
            " error_string error_class wtime wtick initialized finalized is_thread_main"
            " query_thread comm_set_errhandler comm_get_errhandler comm_create_errhandler"
            " errhandler_free errhandler_set errhandler_get errhandler_create pcontrol"
            " f_sync_reg"
        ),
        "9.1-9.6, 15.2, 19.1.17",
    ),
    FactRow(
        words(
            "info_create info_set info_get info_get_nkeys info_get_nthkey info_delete info_dup"
            " info_free info_get_valuelen info_get_string"
        ),
        "10",
    ),
    FactRow(
        words("status_set_elements status_set_cancelled status_f2f08 status_f082f"), "13.3, 19.3.5"
    ),
)

# Requests: it starts what an earlier call prepared.
STARTING = (
    FactRow(words("start startall"), "3.9"),
    FactRow(words("pready pready_list pready_range"), "4.2"),
)

# Requests: it may complete what an earlier call started.
COMPLETING = (
    FactRow(
        words(
            "wait waitany waitall waitsome test testany testall testsome request_free cancel"
            " request_get_status request_get_status_all request_get_status_any"
            " request_get_status_some"
        ),
        "3.7.3-3.8.4",
    ),
    FactRow(words("parrived"), "4.2"),
)

# It starts a transfer that something other than a request completes.
NONBLOCKING_WITHOUT_REQUEST = (
    FactRow(words("put get accumulate get_accumulate fetch_and_op compare_and_swap"), "12.3"),
    FactRow(
        words(
            "file_read_at_all_begin file_write_at_all_begin file_read_all_begin"
            " file_write_all_begin file_read_ordered_begin file_write_ordered_begin"
        ),
        "14.4.5",
    ),
    FactRow(words("buffer_attach comm_attach_buffer session_attach_buffer"), "3.6"),
    FactRow(words("win_create win_attach"), "12.2"),
)

# The result depends on the calling process: different ranks get different values.
RANK_DEPENDENT = (
    FactRow(
        words("comm_rank group_rank cart_coords cart_shift cart_get graph_neighbors"), "7.4, 8.5"
    ),
    FactRow(words("get_processor_name wtime wtick"), "9.1, 9.6"),
)


@dataclass(frozen=True, slots=True)
class DataMovement:
    """An operation that moves buffers between processes: what its arguments are called.

    ``family``: ``alltoall`` (equal blocks), ``alltoallv``, ``alltoallw``, ``send``, ``recv``,
    ``sendrecv``; other collectives are in no family yet.  None: it has no such argument.
    """

    family: str
    section: str
    send: str | None = None
    send_count: str | None = None
    send_type: str | None = None
    receive: str | None = None
    receive_count: str | None = None
    receive_type: str | None = None
    destination: str | None = None
    source: str | None = None
    send_displacements: str | None = None
    receive_displacements: str | None = None


_BLOCKS = ("sendbuf", "sendcount", "sendtype", "recvbuf", "recvcount", "recvtype")
_RAGGED = ("sendbuf", "sendcounts", "sendtype", "recvbuf", "recvcounts", "recvtype")
_TYPED = ("sendbuf", "sendcounts", "sendtypes", "recvbuf", "recvcounts", "recvtypes")
_OUT = ("buf", "count", "datatype")

EXCHANGES = {
    **{name: DataMovement("alltoall", "6.8", *_BLOCKS) for name in ("alltoall", "ialltoall")},
    **{
        name: DataMovement(
            "alltoallv",
            "6.8",
            *_RAGGED,
            send_displacements="sdispls",
            receive_displacements="rdispls",
        )
        for name in ("alltoallv", "ialltoallv")
    },
    **{name: DataMovement("alltoallw", "6.8", *_TYPED) for name in ("alltoallw", "ialltoallw")},
    **{
        name: DataMovement("send", "3.2, 3.4, 3.7", *_OUT, destination="dest")
        for name in ("send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend")
    },
    **{
        name: DataMovement("recv", "3.2, 3.7", None, None, None, *_OUT, source="source")
        for name in ("recv", "irecv")
    },
    **{
        name: DataMovement("sendrecv", "3.10", *_BLOCKS, destination="dest", source="source")
        for name in ("sendrecv", "isendrecv")
    },
    **{
        name: DataMovement("sendrecv", "3.10", *_OUT, *_OUT, destination="dest", source="source")
        for name in ("sendrecv_replace", "isendrecv_replace")
    },
}

# Arguments that the machine-readable standard calls ``in`` but through which the library may write
# later (a buffer that it is given for good, or prepares to receive into), as procedure: argument.
WRITTEN_LATER = {
    "buffer_attach": "buffer",
    "comm_attach_buffer": "buffer",
    "session_attach_buffer": "buffer",
    "win_create": "base",
    "win_attach": "base",
    "precv_init": "buf",
}

# The count is that of one rank's block, of which a buffer has one for each rank (6.10.1).
COUNT_OF_A_BLOCK = FactRow(
    words("reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init"), "6.10.1"
)

# Removed in MPI-3.0 (MPI-4.0 chapter 17), arguments as in MPI-1.1; (name, kind, direction).
_ERROR = ("ierror", "ERROR_CODE", "out")
REMOVED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "MPI_Address": (("location", "BUFFER", "in"), ("address", "DISPLACEMENT", "out"), _ERROR),
    "MPI_Errhandler_create": (
        ("function", "FUNCTION", "in"),
        ("errhandler", "ERRHANDLER", "out"),
        _ERROR,
    ),
    "MPI_Errhandler_get": (
        ("comm", "COMMUNICATOR", "in"),
        ("errhandler", "ERRHANDLER", "out"),
        _ERROR,
    ),
    "MPI_Errhandler_set": (
        ("comm", "COMMUNICATOR", "in"),
        ("errhandler", "ERRHANDLER", "in"),
        _ERROR,
    ),
    "MPI_Type_extent": (("datatype", "DATATYPE", "in"), ("extent", "NUM_BYTES", "out"), _ERROR),
    "MPI_Type_lb": (("datatype", "DATATYPE", "in"), ("displacement", "NUM_BYTES", "out"), _ERROR),
    "MPI_Type_ub": (("datatype", "DATATYPE", "in"), ("displacement", "NUM_BYTES", "out"), _ERROR),
    "MPI_Type_hvector": (
        ("count", "DTYPE_NUM_ELEM", "in"),
        ("blocklength", "DTYPE_NUM_ELEM", "in"),
        ("stride", "DTYPE_STRIDE_BYTES", "in"),
        ("oldtype", "DATATYPE", "in"),
        ("newtype", "DATATYPE", "out"),
        _ERROR,
    ),
    "MPI_Type_hindexed": (
        ("count", "DTYPE_NUM_ELEM", "in"),
        ("array_of_blocklengths", "DTYPE_NUM_ELEM", "in"),
        ("array_of_displacements", "DISPLACEMENT", "in"),
        ("oldtype", "DATATYPE", "in"),
        ("newtype", "DATATYPE", "out"),
        _ERROR,
    ),
    "MPI_Type_struct": (
        ("count", "DTYPE_NUM_ELEM", "in"),
        ("array_of_blocklengths", "DTYPE_NUM_ELEM", "in"),
        ("array_of_displacements", "DISPLACEMENT", "in"),
        ("array_of_types", "DATATYPE", "in"),
        ("newtype", "DATATYPE", "out"),
        _ERROR,
    ),
}

# Arguments that get the same value on every rank of the communicator that the call names, as
# procedure: arguments (6.4-6.7, 6.9, 7.4.1).
SAME_ON_ALL = {
    "comm_size": ("size",),
    "comm_remote_size": ("size",),
    "comm_test_inter": ("flag",),
    "bcast": ("buffer",),
    "allreduce": ("recvbuf",),
    "allgather": ("recvbuf",),
    "allgatherv": ("recvbuf",),
    "cartdim_get": ("ndims",),
}

# What one rank has and all get: each rank's own value before the call does not matter (6.4).
BROADCAST = (FactRow(words("bcast ibcast bcast_init"), "6.4, 6.12.2, 6.13.2"),)

# New communicators with the group of the one they are made from, as procedure: (old, new) (7.4.2,
# 8.5.4).
SAME_GROUP = {
    "comm_dup": ("comm", "newcomm"),
    "comm_dup_with_info": ("comm", "newcomm"),
    "comm_idup": ("comm", "newcomm"),
    "comm_idup_with_info": ("comm", "newcomm"),
    "dist_graph_create": ("comm_old", "comm_dist_graph"),
    "dist_graph_create_adjacent": ("comm_old", "comm_dist_graph"),
}

# New communicators of ranks of the one they are made from, perhaps not all (7.4.2, 8.5.1, 8.5.3).
PART_OF_GROUP = {
    "cart_create": ("comm_old", "comm_cart"),
    "cart_sub": ("comm", "newcomm"),
    "graph_create": ("comm_old", "comm_graph"),
    "comm_create": ("comm", "newcomm"),
    "comm_create_group": ("comm", "newcomm"),
    "comm_split": ("comm", "newcomm"),
    "comm_split_type": ("comm", "newcomm"),
}

# Whoever defines this procedure implements MPI: every MPI program calls it (11.2).
ENTRY_OF_AN_IMPLEMENTATION = "mpi_init"

# Procedures whose results follow from their arguments alone (5.1, 8.5.2).
FUNCTIONS_OF_ARGUMENTS = FactRow(words("dims_create type_size type_get_extent"), "5.1, 8.5.2")

# Reductions of the standard, and those among them whose result is the same in whatever order the
# values are combined (6.9.2); of numbers of floating point, those that only choose one of them.
PREDEFINED_REDUCTIONS = words(
    "mpi_max mpi_min mpi_sum mpi_prod mpi_land mpi_band mpi_lor mpi_bor mpi_lxor mpi_bxor"
    " mpi_maxloc mpi_minloc"
)
ORDER_FREE_REDUCTIONS = PREDEFINED_REDUCTIONS - words("mpi_sum mpi_prod")
