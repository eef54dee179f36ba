"""Amounts of work that are kept between texts of a unit: as if they were counted anew."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from asphalt.gain.amounts import Amount
from asphalt.gain.known_amounts import Known, text_around
from asphalt.gain.model import Model
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a)
  implicit none
  integer, parameter :: n = {n}
  real(8), intent(inout) :: a(n)
  real(8), allocatable :: w(:)
  integer :: i{first}
  allocate(w({shape}))
  {before}
  w(:) = 1
  do i = 1, n
    a(i) = a(i) + {more}*w(1)
  end do
end subroutine unit
"""
_USUAL = {"n": "500", "first": "", "shape": "n", "before": "continue", "more": "2"}


def _priced(
    folder: Path, amounts: dict[Hashable, Amount] | None, **parts: str
) -> tuple[tuple[float, ...], bytes | None]:
    """The price of a unit, and the text around its statements."""
    folder.mkdir(exist_ok=True)
    stepped = Stepped.of(folder, {"unit.f90": _UNIT.format(**{**_USUAL, **parts})})
    (facts,) = stepped.facts()
    located, tree = facts.located, stepped.tree
    around = text_around(located, tree.content(located.path))
    known = None if amounts is None else Known(None, around, amounts)
    return Model().price(tree, located, known).seconds, around


@pytest.mark.parametrize(
    "changed", [{"n": "50000"}, {"shape": "9*n"}, {"more": "exp(2.5d0)"}, {"before": "a = sqrt(a)"}]
)
def test_what_an_amount_depends_on_is_told_apart(changed: dict[str, str], tmp_path: Path) -> None:
    amounts: dict[Hashable, Amount] = {}
    usual, _ = _priced(tmp_path / "one", amounts)
    found, _ = _priced(tmp_path / "one", amounts, **changed)
    assert found == _priced(tmp_path / "one", None, **changed)[0]
    assert found != usual


def test_statements_that_stay_are_counted_once(tmp_path: Path) -> None:
    amounts: dict[Hashable, Amount] = {}
    _priced(tmp_path / "one", amounts)
    before = len(amounts)
    _priced(tmp_path / "one", amounts, before="a(1) = 0")
    assert len(amounts) == before + 1


def test_declarations_on_a_line_with_a_statement_are_not_cut_off(tmp_path: Path) -> None:
    _, around = _priced(tmp_path / "one", None)
    assert around is not None
    assert b"integer :: i\n" in around
    assert b"end subroutine" in around
    assert b"do i" not in around
    assert _priced(tmp_path / "one", None, first="; a(1) = 0")[1] is None


_CALLING = """\
module work
  implicit none
  integer, parameter :: m = {m}
contains
subroutine unit(a)
  integer, parameter :: n = {n}
  real(8), intent(inout) :: a(n)
  {declared}
  call inner
  call other(a)
contains
  subroutine inner
    integer :: i
    do i = 1, n
      a(i) = a(i) + 1
    end do
  end subroutine inner
end subroutine unit
subroutine other(a)
  integer, parameter :: n = {other}
  real(8), intent(inout) :: a(*)
  integer :: i
  do i = 1, n
    a(i) = a(i) + 1
  end do
  do i = 1, m
    a(i) = a(i) + 1
  end do
end subroutine other
end module work
"""
_CALLED = {"m": "500", "n": "500", "other": "500", "declared": "integer :: k"}


def _priced_with_calls(
    folder: Path, amounts: dict[Hashable, Amount] | None, **parts: str
) -> tuple[float, ...]:
    stepped = Stepped.of(folder, {"unit.f90": _CALLING.format(**{**_CALLED, **parts})})
    facts = next(one for one in stepped.facts() if one.unit.name == "unit")
    located, tree = facts.located, stepped.tree
    around = text_around(located, tree.content(located.path))
    known = None if amounts is None else Known(facts.once(Messages), around, amounts)
    return Model().price(tree, located, known).seconds


@pytest.mark.parametrize("changed", [{"m": "50000"}, {"n": "50000"}, {"other": "50000"}])
def test_amounts_of_called_procedures_depend_on_their_declarations(
    changed: dict[str, str], tmp_path: Path
) -> None:
    amounts: dict[Hashable, Amount] = {}
    usual = _priced_with_calls(tmp_path / "one", amounts)
    found = _priced_with_calls(tmp_path / "one", amounts, **changed)
    assert found == _priced_with_calls(tmp_path / "one", None, **changed)
    assert found != usual


def test_amounts_of_called_procedures_are_kept_where_the_caller_declares_more(
    tmp_path: Path,
) -> None:
    amounts: dict[Hashable, Amount] = {}
    _priced_with_calls(tmp_path / "one", amounts)
    before = len(amounts)
    _priced_with_calls(tmp_path / "one", amounts, declared="integer :: k, request")
    assert len(amounts) == before + 1  # that of the procedure inside
