"""Conditions on MPI_COMM_NULL, for communicators that are never it, and for those that may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.uniformity.uniformity import Judgement, Level
from asphalt.ir.tree import Leaf, leaves
from support.stepping import Stepped

_TREE = """\
module ranks
  use mpi
  implicit none
  type team
    integer :: comm, size
  end type team
{declared}
  interface peak
    module procedure peak_integer, peak_real
  end interface
contains
  subroutine begin(new)
    integer, intent(out) :: new
    integer :: ierr, me, grid
    logical :: both(2) = .true.
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
{made}
  end subroutine begin
  subroutine peak_integer(x, comm)
    integer, intent(inout) :: x
    integer, intent(in) :: comm
    x = x + 1
  end subroutine peak_integer
  subroutine peak_real(x, comm)
    real, intent(inout) :: x
    integer, intent(in) :: comm
    integer :: ierr
    real :: y
    if (comm == MPI_COMM_NULL) return
    call MPI_Allreduce(x, y, 1, MPI_REAL, MPI_MAX, comm, ierr)
    x = y
  end subroutine peak_real
end module ranks
program main
  use mpi
  use ranks
  implicit none
  integer :: ierr, n
  real :: x
  call MPI_Init(ierr)
  call begin(mine)
{before}
  call peak(x, mine)
  call MPI_Finalize(ierr)
end program main
"""
_DUP = "call MPI_Comm_dup(MPI_COMM_WORLD, new, ierr)"
_SPLIT = "call MPI_Comm_split(MPI_COMM_WORLD, {}, me, new, ierr)"
_GRID = "call MPI_Cart_create(MPI_COMM_WORLD, 2, (/2, 2/), both, .false., {}, ierr)"
_MINE = "integer :: mine"


def _reached(folder: Path, made: str, declared: str = _MINE, before: str = "") -> Judgement:
    """Whether all ranks reach the reduction."""
    text = _TREE.format(made=made, declared=declared, before=before)
    if "team" in declared:
        text = text.replace("begin(mine)", "begin(mine%comm)").replace("x, mine)", "x, mine%comm)")
    stepped = Stepped.of(folder, {"all.f90": text})
    stepped.uniform = True
    for facts in stepped.facts():
        for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
            if isinstance(leaf, Leaf) and leaf.call and "allreduce" in repr(leaf.call).lower():
                assert facts.uniformity is not None
                return facts.uniformity.reached(facts.scope, leaf, None)
    raise AssertionError("there is no reduction")


@pytest.mark.parametrize(
    ("made", "declared"),
    [
        (_DUP, _MINE),
        (_DUP, "type(team) :: mine"),
        ("new = MPI_COMM_WORLD", _MINE),
        (f"if (me < 2) then\n{_DUP}\nelse\nnew = MPI_COMM_SELF\nend if", _MINE),
        (_SPLIT.format("7"), _MINE),
        (f"{_GRID.format('grid')}\ncall MPI_Cart_sub(grid, both, new, ierr)", _MINE),
    ],
)
def test_never_null(tmp_path: Path, made: str, declared: str) -> None:
    found = _reached(tmp_path, made, declared)
    assert found.level is Level.UNIFORM, found


@pytest.mark.parametrize(
    ("made", "declared", "before"),
    [
        (_SPLIT.format("merge(1, MPI_UNDEFINED, me < 2)"), _MINE, ""),
        (_SPLIT.format("me - 1"), _MINE, ""),
        (_GRID.format("new"), _MINE, ""),
        (f"if (me < 2) {_DUP}", "integer :: mine = MPI_COMM_NULL", ""),
        (f"if (me < 2) then\n{_DUP}\nelse\nnew = MPI_COMM_NULL\nend if", _MINE, ""),
        (_DUP, _MINE, "if (x > 0) call MPI_Comm_free(mine, ierr)"),
        (_DUP, "type(team), pointer :: mine", ""),
        (_DUP, _MINE, "call unseen(mine)"),
        (_DUP, _MINE, "if (x > 0) call peak(x, MPI_COMM_NULL)"),
    ],
)
def test_maybe_null(tmp_path: Path, made: str, declared: str, before: str) -> None:
    found = _reached(tmp_path, made, declared, before)
    assert found.level is not Level.UNIFORM, found
