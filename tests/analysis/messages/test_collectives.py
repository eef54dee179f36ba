"""Whether all ranks enter a collective operation from the same call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asphalt.analysis.messages import collectives
from asphalt.analysis.messages.collectives import Together, together
from asphalt.analysis.messages.messages import Messages
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: me, ierr
  real(8) :: a(4), b(4)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  a = me
  call MPI_Bcast(a, 4, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(b, 4, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  {guard}call MPI_Reduce(a, b, 4, MPI_REAL8, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
  call MPI_Reduce(b, a, 4, MPI_REAL8, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize("guard", ["", "if (me == 0) "])
def test_the_calls_of_an_operation_are_judged_once(
    guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = Stepped.of(tmp_path, {"main.f90": _PROGRAM.format(guard=guard)})
    stepped.uniform = True
    (facts,) = stepped.facts()
    asked: list[str] = []
    judged = collectives._reached

    def reached(*args: Any) -> Together:
        asked.append(args[-1])
        return judged(*args)

    monkeypatch.setattr(collectives, "_reached", reached)
    found = [
        together(facts, call)
        for _, call in Messages(facts).own_calls()
        if call.operation in ("mpi_bcast", "mpi_reduce")
    ]
    assert len(found) == 4
    assert [one.why_not is None for one in found] == [True, True, not guard, not guard]
    assert len(asked) == len(set(asked))
