"""The predefined reduction operations (MPI-4.0 section 6.9.2)."""

from __future__ import annotations

# Their results are the same in whatever order the values are combined; of floating-point numbers,
# these operations only choose one.
ORDER_FREE_REDUCTIONS = frozenset(
    {
        *("mpi_max", "mpi_min", "mpi_maxloc", "mpi_minloc"),
        *("mpi_land", "mpi_band", "mpi_lor", "mpi_bor", "mpi_lxor", "mpi_bxor"),
    }
)
PREDEFINED_REDUCTIONS = ORDER_FREE_REDUCTIONS | {"mpi_sum", "mpi_prod"}
