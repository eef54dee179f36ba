"""Branches stay whole where a window would only get the work of another one by their split."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepping import Stepped

from asphalt.optimise import Optimised, optimise
from asphalt.passes import TRANSFERS
from asphalt.transforms import fission, motion, nonblocking

_ALL_IN_ONE = TRANSFERS[: TRANSFERS.index(motion.NAME) + 1]
_PROGRAM = """\
program sums
  use mpi
  implicit none
  integer, parameter :: n = 4000, fields = 4
  real(8) :: t(n,fields), r(n,fields), row(n), total(fields)
  integer :: i, l, p, np, me, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  t = me
  do l = 1, fields
    do i = 1, n
      row(i) = t(i,l) + l
    end do
    if (me == 0) then
      total(l) = sum(row)
      do p = 1, np - 1
        call MPI_Recv(row, n, MPI_DOUBLE_PRECISION, p, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        do i = 1, n
          total(l) = total(l) + row(i)
        end do
      end do
    else
      call MPI_Send(row, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Bcast(total(l), 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
    do i = 1, n
      r(i,l) = sin(t(i,l))
    end do
  end do
  print *, total, sum(r)
  call MPI_Finalize(ierr)
end program sums
"""


def _optimised(folder: Path, passes: tuple[str, ...]) -> tuple[Stepped, Optimised]:
    stepped = Stepped.of(folder, {"sums.f90": _PROGRAM})
    (facts,) = stepped.facts()
    return stepped, optimise(stepped.tree, facts.located, passes)


def test_what_all_ranks_wait_for_keeps_its_work(tmp_path: Path) -> None:
    """The work behind a broadcast does not go into the window of what is sent to its root before:
    all ranks would wait for the broadcast then, and have nothing beside it."""
    _, found = _optimised(tmp_path, _ALL_IN_ONE)
    assert [step.transformation for step in found.steps] == [nonblocking.NAME, motion.NAME]
    (told,) = found.transfers
    assert told.operation == "MPI_Bcast"
    assert told.beside


def test_a_window_that_goes_on_behind_the_loop_is_not_empty(tmp_path: Path) -> None:
    """Where the wait for the broadcast leaves the loop, the work may go to the messages."""
    _, found = _optimised(tmp_path, TRANSFERS)
    assert fission.NAME in {step.transformation for step in found.steps}
    assert {told.operation for told in found.transfers} >= {"MPI_Bcast", "MPI_Recv"}


@pytest.mark.parametrize("beside", [True, False])
def test_requests_are_busy_or_idle(beside: bool, tmp_path: Path) -> None:
    work = "    do i = 1, n\n      r(i,l) = sin(t(i,l))\n    end do\n"
    operation = "    call MPI_Bcast(total(l), 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)\n"
    starts = operation.replace("Bcast", "Ibcast").replace("ierr", "p, ierr")
    wait = "    call MPI_Wait(p, MPI_STATUS_IGNORE, ierr)\n"
    text = _PROGRAM.replace(work, "").replace(
        operation, starts + (work + wait if beside else wait + work)
    )
    (facts,) = Stepped.of(tmp_path, {"sums.f90": text}).facts()
    busy, idle = motion.busy_requests(facts), motion.idle_requests(facts)
    assert ("p" in busy, "p" in idle) == (beside, not beside)
