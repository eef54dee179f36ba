"""Environment, info objects and processes (MPI-4.0 chapters 9 to 11)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    ABORTS,
    BLOCKING,
    CHANGES_OBJECT,
    COLLECTIVE,
    CONNECTS,
    FINALIZES,
    FREES_COMMUNICATOR,
    INITIALIZES,
    LOCAL,
    MAKES_INTERCOMMUNICATOR,
    QUERIES,
    RANK_DEPENDENT,
    USES_ENVIRONMENT,
    row,
)

ROWS = (
    # 9.1 Implementation
    row("MPI_Get_version", "9.1.1", BLOCKING, LOCAL, QUERIES),
    row("MPI_Get_library_version", "9.1.1", BLOCKING, LOCAL, QUERIES),
    row("MPI_Get_processor_name", "9.1.2", BLOCKING, LOCAL, RANK_DEPENDENT, QUERIES),
    row("MPI_Get_hw_resource_info", "9.1.2", BLOCKING, QUERIES),
    # 9.2 Memory
    row("MPI_Alloc_mem", "9.2", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Free_mem", "9.2", BLOCKING, LOCAL, USES_ENVIRONMENT),
    # 9.3 Error handlers
    row("MPI_Comm_create_errhandler", "9.3.1", BLOCKING, LOCAL),
    row("MPI_Comm_set_errhandler", "9.3.1", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Comm_get_errhandler", "9.3.1", BLOCKING, LOCAL),
    row("MPI_Win_create_errhandler", "9.3.2", BLOCKING),
    row("MPI_Win_set_errhandler", "9.3.2", BLOCKING, CHANGES_OBJECT),
    row("MPI_Win_get_errhandler", "9.3.2", BLOCKING),
    row("MPI_File_create_errhandler", "9.3.3", BLOCKING),
    row("MPI_File_set_errhandler", "9.3.3", BLOCKING, CHANGES_OBJECT),
    row("MPI_File_get_errhandler", "9.3.3", BLOCKING),
    row("MPI_Session_create_errhandler", "9.3.4", BLOCKING),
    row("MPI_Session_set_errhandler", "9.3.4", BLOCKING, CHANGES_OBJECT),
    row("MPI_Session_get_errhandler", "9.3.4", BLOCKING),
    row("MPI_Errhandler_free", "9.3.5", BLOCKING, LOCAL),
    row("MPI_Error_string", "9.3.5", BLOCKING, LOCAL, QUERIES),
    # 9.4 Error classes
    row("MPI_Error_class", "9.4", BLOCKING, LOCAL, QUERIES),
    # 9.5 Error classes and handlers of the user
    row("MPI_Add_error_class", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Remove_error_class", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Add_error_code", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Remove_error_code", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Add_error_string", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Remove_error_string", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Comm_call_errhandler", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Win_call_errhandler", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_File_call_errhandler", "9.5", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Session_call_errhandler", "9.5", BLOCKING, USES_ENVIRONMENT),
    # 9.6 Timers
    row("MPI_Wtime", "9.6", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Wtick", "9.6", BLOCKING, LOCAL, USES_ENVIRONMENT),
    # 10 Info objects
    row("MPI_Info_create", "10", BLOCKING, LOCAL),
    row("MPI_Info_create_env", "10", BLOCKING, QUERIES),
    row("MPI_Info_set", "10", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Info_delete", "10", BLOCKING, LOCAL, CHANGES_OBJECT),
    row("MPI_Info_get_string", "10", BLOCKING, LOCAL),
    row("MPI_Info_get_nkeys", "10", BLOCKING, LOCAL),
    row("MPI_Info_get_nthkey", "10", BLOCKING, LOCAL),
    row("MPI_Info_dup", "10", BLOCKING, LOCAL),
    row("MPI_Info_free", "10", BLOCKING, LOCAL),
    # 11.2 The world model
    row("MPI_Init", "11.2.1", BLOCKING, COLLECTIVE, USES_ENVIRONMENT, INITIALIZES),
    row("MPI_Init_thread", "11.2.1", BLOCKING, COLLECTIVE, USES_ENVIRONMENT),
    row("MPI_Finalize", "11.2.2", BLOCKING, COLLECTIVE, USES_ENVIRONMENT, FINALIZES),
    row("MPI_Initialized", "11.2.3", BLOCKING, LOCAL, QUERIES),
    row("MPI_Finalized", "11.2.3", BLOCKING, LOCAL, QUERIES),
    # 11.3 The sessions model
    row("MPI_Session_init", "11.3.1", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Session_finalize", "11.3.1", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Session_get_num_psets", "11.3.3", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Session_get_nth_pset", "11.3.3", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Session_get_info", "11.3.3", BLOCKING),
    row("MPI_Session_get_pset_info", "11.3.3", BLOCKING, USES_ENVIRONMENT),
    # 11.4 Both models
    row("MPI_Abort", "11.4.2", BLOCKING, USES_ENVIRONMENT, ABORTS),
    # 11.6 Threads
    row("MPI_Query_thread", "11.2, 11.6", BLOCKING, LOCAL, QUERIES),
    row("MPI_Is_thread_main", "11.2, 11.6", BLOCKING, LOCAL, QUERIES),
    # 11.8 Starting processes
    row(
        "MPI_Comm_spawn",
        "11.8.2",
        BLOCKING,
        COLLECTIVE,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
    row(
        "MPI_Comm_get_parent",
        "11.8.2",
        BLOCKING,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
    row(
        "MPI_Comm_spawn_multiple",
        "11.8.3",
        BLOCKING,
        COLLECTIVE,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
    # 11.9 Establishing communication
    row("MPI_Open_port", "11.9.2", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Close_port", "11.9.2", BLOCKING, USES_ENVIRONMENT),
    row(
        "MPI_Comm_accept",
        "11.9.2",
        BLOCKING,
        COLLECTIVE,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
    row(
        "MPI_Comm_connect",
        "11.9.3",
        BLOCKING,
        COLLECTIVE,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
    row("MPI_Publish_name", "11.9.4", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Unpublish_name", "11.9.4", BLOCKING, USES_ENVIRONMENT),
    row("MPI_Lookup_name", "11.9.4", BLOCKING, USES_ENVIRONMENT),
    # 11.10 Releasing connections
    row(
        "MPI_Comm_disconnect", "11.10.4", BLOCKING, COLLECTIVE, FREES_COMMUNICATOR, USES_ENVIRONMENT
    ),
    row(
        "MPI_Comm_join",
        "11.10.5",
        BLOCKING,
        COLLECTIVE,
        CONNECTS,
        USES_ENVIRONMENT,
        MAKES_INTERCOMMUNICATOR,
    ),
)
