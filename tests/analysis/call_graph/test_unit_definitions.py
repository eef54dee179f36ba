"""The definitions of a variable are found without looking at statements that do not name it."""

from __future__ import annotations

from pathlib import Path

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.definitions import VariableDefinition, definitions_of
from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.tree import load_tree

_UNIT = """\
module state
  implicit none
  type :: part
    real(8) :: v(3) = 0
    integer :: n = 0
  end type part
  type(part) :: p, q(4)
end module state
subroutine unit(a, b, n, k)
  use mpi
  use state
  implicit none
  integer :: n, k, ierr, i, j, status(MPI_STATUS_SIZE)
  real(8) :: a(n), b(n), x, y
  real(8), external :: changed
  character(9) :: line
  namelist /group/ i, j
  if (changed(x) > 0) y = x
  if (changed(a(k)) > 0) call other(b, k)
  do i = 1, n
    a(i) = p%v(i)
    q(i)%v(:) = changed(y)
  end do
  do while (changed(x) > 0)
    j = j + 1
  end do
  associate (there => q(2)%n)
    there = k
  end associate
  call MPI_Recv(p%v, 3, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, status, ierr)
  call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  read (line, *) k, p%n
  read (*, nml=group)
  go to (10, 20), int(changed(y))
10 a = b
20 b(1) = 2
end subroutine unit
"""


def test_a_statement_defines_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_text(_UNIT)
    tree = load_tree([tmp_path])
    scopes = Scopes(tree)
    located = next(one for one in tree.units_of(str(path)) if one.unit.name == "unit")
    context = CallSites(scopes).of(located)
    all_: dict[str, list[VariableDefinition]] = {}
    for statement in context.flow.statements:
        for one in definitions_of(statement, context.scope):
            all_.setdefault(one.name, []).append(one)
    assert {"a", "b", "i", "j", "k", "n", "p", "q", "x", "y", "status", "ierr"} <= all_.keys()
    assert {name: list(context.defined.get(name)) for name in all_} == all_
    assert "line" not in context.defined
    assert "comm" not in context.defined


def test_a_statement_that_is_not_understood_may_define_anything(tmp_path: Path) -> None:
    path = tmp_path / "a.f90"
    path.write_text(
        "subroutine unit(a)\n  real :: a, b\n  a = 1\n  frobnicate a b\nend subroutine\n"
    )
    tree = load_tree([tmp_path])
    context = CallSites(Scopes(tree)).of(tree.units_of(str(path))[0])
    assert len(context.defined.get("a")) == 2
    assert len(context.defined.get("b")) == 1
