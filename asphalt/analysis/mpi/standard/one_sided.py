"""One-sided communication (MPI-4.0 chapter 12)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    ACCESSES_WINDOW,
    BLOCKING,
    CHANGES_OBJECT,
    COLLECTIVE,
    ENDS_ACCESS,
    NONBLOCKING,
    Until,
    row,
)

ROWS = (
    # 12.2 Windows
    row(
        "MPI_Win_create",
        "12.2.1",
        NONBLOCKING,
        COLLECTIVE,
        until=Until.DETACH,
        written_later="base",
    ),
    row("MPI_Win_allocate", "12.2.2", BLOCKING, COLLECTIVE),
    row("MPI_Win_allocate_shared", "12.2.3", BLOCKING, COLLECTIVE),
    row("MPI_Win_shared_query", "12.2.3", BLOCKING),
    row("MPI_Win_create_dynamic", "12.2.4", BLOCKING, COLLECTIVE),
    row(
        "MPI_Win_attach",
        "12.2.4",
        NONBLOCKING,
        ACCESSES_WINDOW,
        until=Until.DETACH,
        written_later="base",
    ),
    row("MPI_Win_detach", "12.2.4", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_free", "12.2.5", BLOCKING, COLLECTIVE, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_get_group", "12.2.6", BLOCKING),
    row("MPI_Win_set_info", "12.2.7", BLOCKING, CHANGES_OBJECT),
    row("MPI_Win_get_info", "12.2.7", BLOCKING),
    # 12.3 Communication
    row("MPI_Put", "12.3.1", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Get", "12.3.2", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Accumulate", "12.3.4", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Get_accumulate", "12.3.4", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Fetch_and_op", "12.3.4", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Compare_and_swap", "12.3.4", NONBLOCKING, ACCESSES_WINDOW, until=Until.EPOCH),
    row("MPI_Rput", "12.3.5", NONBLOCKING, ACCESSES_WINDOW),
    row("MPI_Rget", "12.3.5", NONBLOCKING, ACCESSES_WINDOW),
    row("MPI_Raccumulate", "12.3.5", NONBLOCKING, ACCESSES_WINDOW),
    row("MPI_Rget_accumulate", "12.3.5", NONBLOCKING, ACCESSES_WINDOW),
    # 12.5 Synchronization
    row("MPI_Win_fence", "12.5.1", BLOCKING, COLLECTIVE, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_start", "12.5.2", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_complete", "12.5.2", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_post", "12.5.2", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_wait", "12.5.2", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_test", "12.5.2", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_lock", "12.5.3", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_lock_all", "12.5.3", BLOCKING, ACCESSES_WINDOW),
    row("MPI_Win_unlock", "12.5.3", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_unlock_all", "12.5.3", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_flush", "12.5.4", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_flush_all", "12.5.4", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_flush_local", "12.5.4", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_flush_local_all", "12.5.4", BLOCKING, ACCESSES_WINDOW, ENDS_ACCESS),
    row("MPI_Win_sync", "12.5.4", BLOCKING, ACCESSES_WINDOW),
)
