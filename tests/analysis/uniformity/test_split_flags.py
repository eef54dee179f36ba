"""Conditions that all ranks of a split communicator have in common, by its colour or by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.uniformity.uniformity import Level
from asphalt.ir.stmt import Call
from asphalt.ir.tree import leaves
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: me, ierr, comm, color, other
  logical :: active, first
  real :: x, y
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  x = me
{before}  call MPI_Comm_split(MPI_COMM_WORLD, color, me, comm, ierr)
{behind}  if ({condition}) then
    call MPI_Allreduce(x, y, 1, MPI_REAL, MPI_MAX, {comm}, ierr)
    print *, y
  end if
  call MPI_Finalize(ierr)
end program main
"""
_FLAG = "  active = me < 4\n"
_MERGED = f"{_FLAG}  color = merge(0, 1, active)\n"
_SOME = "  color = MPI_UNDEFINED\n  if (me < 4) color = 0\n"
_VALID = "comm /= MPI_COMM_NULL"


def _is_common(
    folder: Path, before: str, condition: str, behind: str = "", comm: str = "comm"
) -> bool:
    """Whether it is proved that all ranks of the communicator reach the reduction."""
    text = _PROGRAM.format(before=before, condition=condition, behind=behind, comm=comm)
    stepped = Stepped.of(folder, {"main.f90": text})
    stepped.uniform = True
    (facts,) = stepped.facts()
    assert facts.uniformity is not None
    for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
        call = mpi_call(leaf.what, facts.scope) if isinstance(leaf.what, Call) else None
        if call is not None and call.operation == "mpi_allreduce":
            judged = facts.uniformity.reached(facts.scope, leaf, call.args["comm"])
            return judged.level is Level.UNIFORM
    raise AssertionError("there is no reduction")


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        (_MERGED, "active"),
        (_MERGED, ".not. active"),
        (f"{_FLAG}  color = merge(MPI_UNDEFINED, 3, .not. active)\n", "active"),
        (_SOME, _VALID),
        (_SOME, f".not. ({_VALID.replace('/=', '==')})"),
        (_MERGED, f"active .and. {_VALID}"),
    ],
)
def test_what_the_ranks_of_a_split_share(before: str, condition: str, tmp_path: Path) -> None:
    assert _is_common(tmp_path, before, condition)


@pytest.mark.parametrize(
    ("before", "condition", "behind", "comm"),
    [
        (f"{_FLAG}  color = merge(1, 1, active)\n", "active", "", "comm"),  # one colour for both
        (f"{_FLAG}  color = merge(0, me, active)\n", "active", "", "comm"),
        (_MERGED, "active", "  if (me == 2) active = .true.\n", "comm"),
        (_MERGED, "active", "", "MPI_COMM_WORLD"),
        (_MERGED.replace("active)", "me > 1 .and. active)"), "active", "", "comm"),
        (_MERGED, "first", "  first = me > 2\n", "comm"),
        (_SOME, _VALID, "  if (me == 2) call MPI_Comm_free(comm, ierr)\n", "comm"),
        (_SOME, _VALID, "  if (me == 2) comm = MPI_COMM_NULL\n", "comm"),
        (_SOME, _VALID, "", "MPI_COMM_WORLD"),
        (_SOME, "comm > 3", "", "comm"),  # a handle may be another number on each rank
        (
            "  color = me/2\n  call MPI_Comm_split(MPI_COMM_WORLD, &\n"
            "    merge(MPI_UNDEFINED, 0, me == 2), me, other, ierr)\n",
            "other /= MPI_COMM_NULL",
            "",
            "comm",
        ),
        (f"  do other = 1, 2\n{_SOME}", _VALID, "  end do\n", "comm"),
    ],
)
def test_what_may_differ_among_the_ranks_of_a_split(
    before: str, condition: str, behind: str, comm: str, tmp_path: Path
) -> None:
    assert not _is_common(tmp_path, before, condition, behind, comm)
