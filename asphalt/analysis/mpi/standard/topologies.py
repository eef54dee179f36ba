"""Virtual topologies and neighborhood collectives (MPI-4.0 chapter 8)."""

from __future__ import annotations

from asphalt.analysis.mpi.standard.row import (
    BLOCKING,
    COLLECTIVE,
    FUNCTIONAL,
    LOCAL,
    NONBLOCKING,
    PERSISTENT,
    QUERIES,
    RANK_DEPENDENT,
    row,
)

ROWS = (
    # 8.5 Topologies
    row("MPI_Cart_create", "8.5.1", BLOCKING, COLLECTIVE, part_of_group=("comm_old", "comm_cart")),
    row("MPI_Dims_create", "8.5.2", BLOCKING, LOCAL, FUNCTIONAL, QUERIES),
    row(
        "MPI_Graph_create", "8.5.3", BLOCKING, COLLECTIVE, part_of_group=("comm_old", "comm_graph")
    ),
    row(
        "MPI_Dist_graph_create_adjacent",
        "8.5.4",
        BLOCKING,
        COLLECTIVE,
        same_group=("comm_old", "comm_dist_graph"),
    ),
    row(
        "MPI_Dist_graph_create",
        "8.5.4",
        BLOCKING,
        COLLECTIVE,
        same_group=("comm_old", "comm_dist_graph"),
    ),
    row("MPI_Topo_test", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Graphdims_get", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Graph_get", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Cartdim_get", "8.5.5", BLOCKING, LOCAL, same_on_all=("ndims",)),
    row("MPI_Cart_get", "8.5.5", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Cart_rank", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Cart_coords", "8.5.5", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Graph_neighbors_count", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Graph_neighbors", "8.5.5", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Dist_graph_neighbors_count", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Dist_graph_neighbors", "8.5.5", BLOCKING, LOCAL),
    row("MPI_Cart_shift", "8.5.6", BLOCKING, LOCAL, RANK_DEPENDENT),
    row("MPI_Cart_sub", "8.5.7", BLOCKING, COLLECTIVE, part_of_group=("comm", "newcomm")),
    row("MPI_Cart_map", "8.5.8", BLOCKING),
    row("MPI_Graph_map", "8.5.8", BLOCKING),
    # 8.6 Neighborhood collectives
    row("MPI_Neighbor_allgather", "8.6.1", BLOCKING, COLLECTIVE),
    row("MPI_Neighbor_allgatherv", "8.6.1", BLOCKING, COLLECTIVE),
    row("MPI_Neighbor_alltoall", "8.6.2", BLOCKING, COLLECTIVE),
    row("MPI_Neighbor_alltoallv", "8.6.2", BLOCKING, COLLECTIVE),
    row("MPI_Neighbor_alltoallw", "8.6.2", BLOCKING, COLLECTIVE),
    # 8.7 Nonblocking neighborhood collectives
    row("MPI_Ineighbor_allgather", "8.7.1", NONBLOCKING, COLLECTIVE),
    row("MPI_Ineighbor_allgatherv", "8.7.1", NONBLOCKING, COLLECTIVE),
    row("MPI_Ineighbor_alltoall", "8.7.2", NONBLOCKING, COLLECTIVE),
    row("MPI_Ineighbor_alltoallv", "8.7.2", NONBLOCKING, COLLECTIVE),
    row("MPI_Ineighbor_alltoallw", "8.7.2", NONBLOCKING, COLLECTIVE),
    # 8.8 Persistent neighborhood collectives
    row("MPI_Neighbor_allgather_init", "8.8.1", PERSISTENT, COLLECTIVE),
    row("MPI_Neighbor_allgatherv_init", "8.8.1", PERSISTENT, COLLECTIVE),
    row("MPI_Neighbor_alltoall_init", "8.8.2", PERSISTENT, COLLECTIVE),
    row("MPI_Neighbor_alltoallv_init", "8.8.2", PERSISTENT, COLLECTIVE),
    row("MPI_Neighbor_alltoallw_init", "8.8.2", PERSISTENT, COLLECTIVE),
)
