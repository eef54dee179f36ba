"""Which non-blocking operations a change starts that take SMPI longer than MPI libraries."""

from __future__ import annotations

from pathlib import Path

from asphalt.diagnostics.change import Change
from asphalt.simulation.whole_buffers import whole_buffer_operations

BLOCKING = "call MPI_Bcast(a, n, MPI_REAL, 0, MPI_COMM_WORLD, ierr)\n"
STARTED = "call Asphalt_ibcast(a, n, MPI_REAL, 0, MPI_COMM_WORLD, asphalt_request_1)\n"
REDUCED = "call asphalt_iallreduce(a, b, n, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, asphalt_request_2)\n"


def started(before: str, after: str) -> tuple[str, ...]:
    change = Change(Path("p.f90"), before.encode(), after.encode(), (), ())
    return whole_buffer_operations([change])


def test_what_a_change_starts() -> None:
    assert started(BLOCKING, STARTED) == ("MPI_Ibcast",)
    assert started(BLOCKING, STARTED + REDUCED) == ("MPI_Iallreduce", "MPI_Ibcast")


def test_what_both_versions_start() -> None:
    # both lose alike
    assert started(STARTED, STARTED + REDUCED) == ("MPI_Iallreduce",)
    assert started(STARTED, STARTED) == ()


def test_a_name_that_is_no_code() -> None:
    assert started(BLOCKING, BLOCKING + "! call asphalt_ibcast(a)\n") == ()


def test_messages_of_other_kinds() -> None:
    # one for each block, or to one other rank
    blocks = "call asphalt_bcast_blocks(a, n, MPI_REAL, 0, MPI_COMM_WORLD, asphalt_blocks_1)\n"
    sent = "call asphalt_isend(a, n, MPI_REAL, 1, 0, MPI_COMM_WORLD, asphalt_request_1)\n"
    exchanged = "call asphalt_ialltoall(a, n, MPI_REAL, b, n, MPI_REAL, c, asphalt_request_2)\n"
    assert started(BLOCKING, blocks + sent + exchanged) == ()
