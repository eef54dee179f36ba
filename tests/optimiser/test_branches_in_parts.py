"""Branches whole or in parts: what comes of it in the end decides where each gives work to another
transfer."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import Pass
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 100000
  real(8) :: a(n), b(n), c(n), total
  integer :: status(MPI_STATUS_SIZE), ierr, rank, ranks, i, p
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  b = rank + 1
  c = 2
  do i = 1, {before}
    c(i) = sqrt(c(i)) + i
  end do
  total = 0
  if (rank == 0) then
    do p = 1, ranks - 1
      call MPI_Recv(a, n, MPI_DOUBLE_PRECISION, p, 1, MPI_COMM_WORLD, status, ierr)
      do i = 1, n
        total = total + a(i)
      end do
    end do
  else
    call MPI_Send(b, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Bcast(total, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  do i = 1, {behind}
    c(i) = sqrt(c(i)) + i
  end do
  print *, rank, sum(c), total
  call MPI_Finalize(ierr)
end program main
"""


def _optimised(folder: Path, before: str, behind: str) -> Optimised:
    text = _PROGRAM.format(before=before, behind=behind)
    stepped = Stepped.of(folder, {"a.f90": text})
    (facts,) = stepped.facts()
    passes = Pass.NONBLOCKING, Pass.MOTION, Pass.FISSION
    return optimise(stepped.tree, facts.located, Options(passes=passes))


@pytest.mark.parametrize(
    ("before", "behind", "operation"), [("10", "n", "MPI_Bcast"), ("n", "10", "MPI_Send")]
)
def test_the_transfer_with_more_work_gets_it(
    tmp_path: Path, before: str, behind: str, operation: str
) -> None:
    """With the branch in parts the send has windows before and behind it, and the broadcast none;
    with the branch whole it is the other way round."""
    found = _optimised(tmp_path, before, behind)
    assert [one.operation for one in found.transfers] == [operation]
    assert (Pass.FISSION in [step.transformation for step in found.steps]) is (
        operation == "MPI_Send"
    )
