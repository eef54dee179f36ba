"""Groups, communicators, caching and names (MPI-4.0 chapter 7)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    BLOCKING,
    CHANGES_OBJECT,
    COLLECTIVE,
    CONNECTS,
    FREES_COMMUNICATOR,
    LOCAL,
    NONBLOCKING,
    RANK_DEPENDENT,
    USES_ENVIRONMENT,
    row,
)

ROWS = (
    # 7.3 Groups
    row("MPI_Group_size", "7.3.1", BLOCKING, LOCAL),
    row("MPI_Group_rank", "7.3.1", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Group_translate_ranks", "7.3.1", BLOCKING, LOCAL),
    row("MPI_Group_compare", "7.3.1", BLOCKING, LOCAL),
    row("MPI_Comm_group", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_union", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_intersection", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_difference", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_incl", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_excl", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_range_incl", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_range_excl", "7.3.2", BLOCKING, LOCAL),
    row("MPI_Group_from_session_pset", "7.3.2", BLOCKING),
    row("MPI_Group_free", "7.3.3", BLOCKING, LOCAL),
    # 7.4 Communicators
    row("MPI_Comm_size", "7.4.1", BLOCKING, LOCAL, same_on_all=("size",)),
    row("MPI_Comm_rank", "7.4.1", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Comm_compare", "7.4.1", BLOCKING, LOCAL),
    row("MPI_Comm_dup", "7.4.2", BLOCKING, COLLECTIVE, same_group=("comm", "newcomm")),
    row("MPI_Comm_dup_with_info", "7.4.2", BLOCKING, COLLECTIVE, same_group=("comm", "newcomm")),
    row("MPI_Comm_idup", "7.4.2", NONBLOCKING, COLLECTIVE, same_group=("comm", "newcomm")),
    row(
        "MPI_Comm_idup_with_info", "7.4.2", NONBLOCKING, COLLECTIVE, same_group=("comm", "newcomm")
    ),
    row("MPI_Comm_create", "7.4.2", BLOCKING, COLLECTIVE, part_of_group=("comm", "newcomm")),
    row("MPI_Comm_create_group", "7.4.2", BLOCKING, COLLECTIVE, part_of_group=("comm", "newcomm")),
    row("MPI_Comm_split", "7.4.2", BLOCKING, COLLECTIVE, part_of_group=("comm", "newcomm")),
    row("MPI_Comm_split_type", "7.4.2", BLOCKING, COLLECTIVE, part_of_group=("comm", "newcomm")),
    row("MPI_Comm_create_from_group", "7.4.2", BLOCKING, COLLECTIVE, CONNECTS),
    row("MPI_Comm_free", "7.4.3", BLOCKING, COLLECTIVE, FREES_COMMUNICATOR),
    row("MPI_Comm_set_info", "7.4.4", BLOCKING, CHANGES_OBJECT),
    row("MPI_Comm_get_info", "7.4.4", BLOCKING),
    # 7.6 Intercommunicators
    row("MPI_Comm_test_inter", "7.6.1", BLOCKING, LOCAL, same_on_all=("flag",)),
    row("MPI_Comm_remote_size", "7.6.1", BLOCKING, LOCAL, same_on_all=("size",)),
    row("MPI_Comm_remote_group", "7.6.1", BLOCKING, LOCAL),
    row("MPI_Intercomm_create", "7.6.2", BLOCKING, COLLECTIVE),
    row("MPI_Intercomm_create_from_groups", "7.6.2", BLOCKING, COLLECTIVE, CONNECTS),
    row("MPI_Intercomm_merge", "7.6.2", BLOCKING, COLLECTIVE),
    # 7.7 Caching
    row("MPI_Comm_create_keyval", "7.7.2", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Comm_free_keyval", "7.7.2", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Comm_set_attr", "7.7.2", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Comm_get_attr", "7.7.2", BLOCKING, LOCAL),
    row("MPI_Comm_delete_attr", "7.7.2", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Win_create_keyval", "7.7.3", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Win_free_keyval", "7.7.3", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Win_set_attr", "7.7.3", BLOCKING, CHANGES_OBJECT),
    row("MPI_Win_get_attr", "7.7.3", BLOCKING),
    row("MPI_Win_delete_attr", "7.7.3", BLOCKING, CHANGES_OBJECT),
    row("MPI_Type_create_keyval", "7.7.4", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Type_free_keyval", "7.7.4", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Type_set_attr", "7.7.4", BLOCKING, CHANGES_OBJECT),
    row("MPI_Type_get_attr", "7.7.4", BLOCKING),
    row("MPI_Type_delete_attr", "7.7.4", BLOCKING, CHANGES_OBJECT),
    # 7.8 Names of objects
    row("MPI_Comm_set_name", "7.8", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Comm_get_name", "7.8", BLOCKING, LOCAL),
    row("MPI_Type_set_name", "7.8", BLOCKING, CHANGES_OBJECT),
    row("MPI_Type_get_name", "7.8", BLOCKING),
    row("MPI_Win_set_name", "7.8", BLOCKING, CHANGES_OBJECT),
    row("MPI_Win_get_name", "7.8", BLOCKING),
)
