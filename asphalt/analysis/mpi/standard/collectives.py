"""Collective communication (MPI-4.0 chapter 6)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    BLOCKING,
    BROADCASTS,
    COLLECTIVE,
    COUNTS_BLOCK,
    LOCAL,
    NONBLOCKING,
    PERSISTENT,
    QUERIES,
    USES_ENVIRONMENT,
    DataMovement,
    row,
)

_EQUAL = DataMovement(
    "alltoall", "sendbuf", "sendcount", "sendtype", "recvbuf", "recvcount", "recvtype"
)
_RAGGED = DataMovement(
    "alltoallv",
    "sendbuf",
    "sendcounts",
    "sendtype",
    "recvbuf",
    "recvcounts",
    "recvtype",
    send_displacements="sdispls",
    receive_displacements="rdispls",
)
_TYPED = DataMovement(
    "alltoallw", "sendbuf", "sendcounts", "sendtypes", "recvbuf", "recvcounts", "recvtypes"
)

ROWS = (
    # 6.3 Barrier
    row("MPI_Barrier", "6.3", BLOCKING, COLLECTIVE),
    # 6.4 Broadcast
    row("MPI_Bcast", "6.4", BLOCKING, COLLECTIVE, BROADCASTS, same_on_all=("buffer",)),
    # 6.5 Gather
    row("MPI_Gather", "6.5", BLOCKING, COLLECTIVE),
    row("MPI_Gatherv", "6.5", BLOCKING, COLLECTIVE),
    # 6.6 Scatter
    row("MPI_Scatter", "6.6", BLOCKING, COLLECTIVE),
    row("MPI_Scatterv", "6.6", BLOCKING, COLLECTIVE),
    # 6.7 Gather-to-all
    row("MPI_Allgather", "6.7", BLOCKING, COLLECTIVE, same_on_all=("recvbuf",)),
    row("MPI_Allgatherv", "6.7", BLOCKING, COLLECTIVE, same_on_all=("recvbuf",)),
    # 6.8 All-to-all
    row("MPI_Alltoall", "6.8", BLOCKING, COLLECTIVE, moves=_EQUAL),
    row("MPI_Alltoallv", "6.8", BLOCKING, COLLECTIVE, moves=_RAGGED),
    row("MPI_Alltoallw", "6.8", BLOCKING, COLLECTIVE, moves=_TYPED),
    # 6.9 Reduction
    row("MPI_Reduce", "6.9.1", BLOCKING, COLLECTIVE),
    row("MPI_Type_get_value_index", "6.9.4", BLOCKING, QUERIES),
    row("MPI_Op_create", "6.9.5", BLOCKING, LOCAL),
    row("MPI_Op_free", "6.9.5", BLOCKING, LOCAL),
    row("MPI_Allreduce", "6.9.6", BLOCKING, COLLECTIVE, same_on_all=("recvbuf",)),
    row("MPI_Reduce_local", "6.9.7", BLOCKING, LOCAL, USES_ENVIRONMENT),
    row("MPI_Op_commutative", "6.9.7", BLOCKING, LOCAL),
    # 6.10 Reduce-scatter
    row("MPI_Reduce_scatter_block", "6.10.1", BLOCKING, COLLECTIVE, COUNTS_BLOCK),
    row("MPI_Reduce_scatter", "6.10.2", BLOCKING, COLLECTIVE),
    # 6.11 Scan
    row("MPI_Scan", "6.11.1", BLOCKING, COLLECTIVE),
    row("MPI_Exscan", "6.11.2", BLOCKING, COLLECTIVE),
    # 6.12 Nonblocking collectives
    row("MPI_Ibarrier", "6.12.1", NONBLOCKING, COLLECTIVE),
    row("MPI_Ibcast", "6.12.2", NONBLOCKING, COLLECTIVE, BROADCASTS),
    row("MPI_Igather", "6.12.3", NONBLOCKING, COLLECTIVE),
    row("MPI_Igatherv", "6.12.3", NONBLOCKING, COLLECTIVE),
    row("MPI_Iscatter", "6.12.4", NONBLOCKING, COLLECTIVE),
    row("MPI_Iscatterv", "6.12.4", NONBLOCKING, COLLECTIVE),
    row("MPI_Iallgather", "6.12.5", NONBLOCKING, COLLECTIVE),
    row("MPI_Iallgatherv", "6.12.5", NONBLOCKING, COLLECTIVE),
    row("MPI_Ialltoall", "6.12.6", NONBLOCKING, COLLECTIVE, moves=_EQUAL),
    row("MPI_Ialltoallv", "6.12.6", NONBLOCKING, COLLECTIVE, moves=_RAGGED),
    row("MPI_Ialltoallw", "6.12.6", NONBLOCKING, COLLECTIVE, moves=_TYPED),
    row("MPI_Ireduce", "6.12.7", NONBLOCKING, COLLECTIVE),
    row("MPI_Iallreduce", "6.12.8", NONBLOCKING, COLLECTIVE),
    row("MPI_Ireduce_scatter_block", "6.12.9", NONBLOCKING, COLLECTIVE, COUNTS_BLOCK),
    row("MPI_Ireduce_scatter", "6.12.10", NONBLOCKING, COLLECTIVE),
    row("MPI_Iscan", "6.12.11", NONBLOCKING, COLLECTIVE),
    row("MPI_Iexscan", "6.12.12", NONBLOCKING, COLLECTIVE),
    # 6.13 Persistent collectives
    row("MPI_Barrier_init", "6.13.1", PERSISTENT, COLLECTIVE),
    row("MPI_Bcast_init", "6.13.2", PERSISTENT, COLLECTIVE, BROADCASTS),
    row("MPI_Gather_init", "6.13.3", PERSISTENT, COLLECTIVE),
    row("MPI_Gatherv_init", "6.13.3", PERSISTENT, COLLECTIVE),
    row("MPI_Scatter_init", "6.13.4", PERSISTENT, COLLECTIVE),
    row("MPI_Scatterv_init", "6.13.4", PERSISTENT, COLLECTIVE),
    row("MPI_Allgather_init", "6.13.5", PERSISTENT, COLLECTIVE),
    row("MPI_Allgatherv_init", "6.13.5", PERSISTENT, COLLECTIVE),
    row("MPI_Alltoall_init", "6.13.6", PERSISTENT, COLLECTIVE),
    row("MPI_Alltoallv_init", "6.13.6", PERSISTENT, COLLECTIVE),
    row("MPI_Alltoallw_init", "6.13.6", PERSISTENT, COLLECTIVE),
    row("MPI_Reduce_init", "6.13.7", PERSISTENT, COLLECTIVE),
    row("MPI_Allreduce_init", "6.13.8", PERSISTENT, COLLECTIVE),
    row("MPI_Reduce_scatter_block_init", "6.13.9", PERSISTENT, COLLECTIVE, COUNTS_BLOCK),
    row("MPI_Reduce_scatter_init", "6.13.10", PERSISTENT, COLLECTIVE),
    row("MPI_Scan_init", "6.13.11", PERSISTENT, COLLECTIVE),
    row("MPI_Exscan_init", "6.13.12", PERSISTENT, COLLECTIVE),
)
