"""Prices of texts of one unit, with called procedures looked at once: as if they were looked at
anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.known_amounts import Known
from asphalt.gain.model import Model, Price
from asphalt.ir.program import Located
from asphalt.ir.tree import Leaf
from support.stepping import Stepped

_PROGRAM = """\
module sizes
  implicit none
  integer, parameter :: m = 600
end module sizes
module work
  use mpi
  use sizes
  implicit none
contains
  subroutine unit(a, b, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(m)
    integer :: i
    do i = 1, n
      a(i) = a(i) + 1
    end do
    call swap(b, n)
    call outer(a, n)
  end subroutine unit
  subroutine swap(b, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: b(m)
    integer :: ierr
    b = b + 2
    call MPI_Sendrecv_replace(b, m, MPI_DOUBLE_PRECISION, n, 1, n, 1, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
  end subroutine swap
  recursive subroutine outer(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    a = sqrt(a)
    if (n > 7) call inner(a, n - 1)
  end subroutine outer
  recursive subroutine inner(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    a = a*3
    call outer(a, n)
  end subroutine inner
end module work
program main
  use work
  implicit none
  real(8) :: a(4000), b(m)
  integer :: ierr
  call MPI_Init(ierr)
  call unit(a, b, 4000)
  call MPI_Finalize(ierr)
end program main
"""
_EDITS = {
    "caller": ("a(i) = a(i) + 1", "a(i) = a(i)*exp(a(i))"),
    "lines": ("    integer :: i\n", "    integer :: i\n    integer :: request\n\n"),
    "moved": (
        "    call swap(b, n)\n    call outer(a, n)\n",
        "    call outer(a, n)\n    call swap(b, n)\n",
    ),
    "called": ("b = b + 2", "b = b + exp(b)"),
    "sent": ("(b, m, MPI_", "(b, 5, MPI_"),
    "deeper": ("a = a*3", "a = exp(a)/3"),
    "constant": ("m = 600", "m = 60000"),
}


def _unit(tree: Tree) -> Located:
    (entry,) = tree.files
    return next(one for one in tree.units_of(entry.path) if one.unit.name == "unit")


def _price(model: Model, tree: Tree) -> Price:
    return model.price(tree, _unit(tree))


@pytest.mark.parametrize("name", _EDITS)
def test_prices_are_those_of_a_new_model(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"main.f90": _PROGRAM}).tree
    (entry,) = tree.files
    model = Model(analyses=Analyses(tree))
    first = _price(model, tree)
    texts = [_PROGRAM]
    for old, new in (_EDITS["lines"], _EDITS[name], _EDITS["caller"]):
        texts.append(texts[-1].replace(old, new, 1))
    for text in (*texts, *reversed(texts)):
        after = tree.edited({entry.path: text.encode()})
        assert _price(model, after) == _price(Model(), after)
    changed = tree.edited({entry.path: _PROGRAM.replace(*_EDITS[name]).encode()})
    if name not in ("lines", "moved"):
        assert _price(model, changed) != first


def test_only_procedures_that_are_the_same_are_kept(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"main.f90": _PROGRAM}).tree
    (entry,) = tree.files
    model = Model(analyses=Analyses(tree))
    for edited in ("caller", "sent"):
        after = tree.edited({entry.path: _PROGRAM.replace(*_EDITS[edited]).encode()})
        _price(model, after)
    kept: list[UnitFacts] = list(model._units._facts.values())
    assert {one.unit.name for one in kept} == {"swap", "outer", "inner"}
    assert all(one.effects.scopes.program is tree for one in kept)


def test_a_kept_procedure_is_priced_by_itself_with_what_is_said_of_it(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"main.f90": _PROGRAM}).tree
    (entry,) = tree.files
    model = Model(analyses=Analyses(tree))
    _price(model, tree.edited({entry.path: _PROGRAM.replace(*_EDITS["caller"]).encode()}))
    kept = model._units._facts.values()
    swap = next(one.located for one in kept if one.unit.name == "swap")
    sent = swap.unit.body[-1]
    assert isinstance(sent, Leaf)
    known = Known(copied=sent)
    found = model.price(tree, swap, known)
    assert found == Model().price(tree, swap, known)
    assert found != model.price(tree, swap)
