"""Amounts of work that are kept between texts of a unit: as if they were counted anew."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from asphalt.gain.known_amounts import Known, KnownAmounts
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


def _priced(folder: Path, amounts: KnownAmounts | None, **parts: str) -> tuple[float, ...]:
    """The price of a unit, and the text around its statements."""
    folder.mkdir(exist_ok=True)
    stepped = Stepped.of(folder, {"unit.f90": _UNIT.format(**{**_USUAL, **parts})})
    (facts,) = stepped.facts()
    known = None if amounts is None else Known(None, amounts)
    return Model().price(stepped.tree, facts.located, known).seconds


@pytest.mark.parametrize(
    "changed", [{"n": "50000"}, {"shape": "9*n"}, {"more": "exp(2.5d0)"}, {"before": "a = sqrt(a)"}]
)
def test_what_an_amount_depends_on_is_told_apart(changed: dict[str, str], tmp_path: Path) -> None:
    amounts = KnownAmounts()
    usual = _priced(tmp_path / "one", amounts)
    found = _priced(tmp_path / "one", amounts, **changed)
    assert found == _priced(tmp_path / "one", None, **changed)
    assert found != usual


def test_statements_that_stay_are_counted_once(tmp_path: Path) -> None:
    amounts = KnownAmounts()
    _priced(tmp_path / "one", amounts)
    before = len(amounts)
    _priced(tmp_path / "one", amounts, before="a(1) = 0")
    assert len(amounts) == before + 1


def test_a_new_variable_changes_no_amount_of_statements_that_do_not_name_it(
    tmp_path: Path,
) -> None:
    amounts = KnownAmounts()
    usual = _priced(tmp_path / "one", amounts)
    before = len(amounts)
    assert _priced(tmp_path / "one", amounts, first="\n  integer :: request(4)") == usual
    assert len(amounts) == before


def test_a_statement_on_a_line_with_a_declaration_is_counted(tmp_path: Path) -> None:
    amounts = KnownAmounts()
    _priced(tmp_path / "one", amounts)
    found = _priced(tmp_path / "one", amounts, first="; a = sqrt(a)")
    assert found == _priced(tmp_path / "one", None, first="; a = sqrt(a)")


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
    folder: Path, amounts: KnownAmounts | None, **parts: str
) -> tuple[float, ...]:
    stepped = Stepped.of(folder, {"unit.f90": _CALLING.format(**{**_CALLED, **parts})})
    facts = next(one for one in stepped.facts() if one.unit.name == "unit")
    known = None if amounts is None else Known(facts.once(Messages), amounts)
    return Model().price(stepped.tree, facts.located, known).seconds


@pytest.mark.parametrize("changed", [{"m": "50000"}, {"n": "50000"}, {"other": "50000"}])
def test_amounts_of_called_procedures_depend_on_their_declarations(
    changed: dict[str, str], tmp_path: Path
) -> None:
    amounts = KnownAmounts()
    usual = _priced_with_calls(tmp_path / "one", amounts)
    found = _priced_with_calls(tmp_path / "one", amounts, **changed)
    assert found == _priced_with_calls(tmp_path / "one", None, **changed)
    assert found != usual


def test_amounts_are_kept_where_the_caller_declares_more(tmp_path: Path) -> None:
    amounts = KnownAmounts()
    usual = _priced_with_calls(tmp_path / "one", amounts)
    before = len(amounts)
    more = _priced_with_calls(tmp_path / "one", amounts, declared="integer :: k, request")
    assert more == usual
    assert len(amounts) == before


_EDITED = """\
module shapes
  implicit none
  integer, parameter :: width = {width}
  integer, parameter :: whole = {whole}
contains
  subroutine unit(a, b, n)
    integer, intent(in) :: n
    {kind}, intent(inout) :: a(n,{columns}), b({rows})
    integer, parameter :: each = {each}
    integer :: i, j, half{more}
    {kind}, allocatable :: w(:)
    {declared}
    allocate (w({shape}))
    {set}
    {first}
    {second}
    {third}
  end subroutine unit
end module shapes
"""
_CHOICES = {
    "width": ("2", "2000", "whole/8"),
    "whole": ("64", "3200"),
    "kind": ("real(8)", "real(4)", "integer"),
    "columns": ("width", "each", "20*each"),
    "rows": ("n", "whole", "each*width"),
    "each": ("17", "whole/2", "width + 1"),
    "more": ("", ", request(2)", ", sqrt(5)"),
    "declared": ("", "integer :: again", "real(8) :: mean(width)", "save"),
    "shape": ("n", "each", "half"),
    "set": ("half = n/2", "half = each/2", "half = 700", "half = 3; half = half + n"),
}
_STATEMENTS = (
    "a = a + 1",
    "b(:) = b(:)*2",
    "w = w + w(1)",
    "do i = 1, half; b(i) = b(i) + 1; end do",
    "do i = 1, each; do j = 1, width; b(1) = b(1) + i*j; end do; end do",
    "do i = 1, n; a(i,1) = a(i,1)*b(i)/3; end do",
    "if (n > 3) a(:,1) = exp(1.0)",
    "b(1) = sum(w)",
)


def _edits(seed: int) -> Iterator[dict[str, str]]:
    """A unit, and what becomes of it by edits of declarations and statements."""
    chance = random.Random(seed)
    parts = {name: chance.choice(values) for name, values in _CHOICES.items()}
    parts |= {name: chance.choice(_STATEMENTS) for name in ("first", "second", "third")}
    for _ in range(8):
        if not (parts["width"] == "whole/8" and "whole" in parts["whole"]):
            yield dict(parts)
        name = chance.choice((*_CHOICES, "first", "second", "third"))
        parts[name] = chance.choice(_CHOICES.get(name, _STATEMENTS))


@pytest.mark.parametrize("seed", range(12))
def test_edits_change_prices_as_if_all_were_counted_anew(seed: int, tmp_path: Path) -> None:
    amounts = KnownAmounts()
    for parts in _edits(seed):
        stepped = Stepped.of(tmp_path / "one", {"unit.f90": _EDITED.format(**parts)})
        facts = next(one for one in stepped.facts() if one.unit.name == "unit")
        known = Known(facts.once(Messages), amounts)
        found = Model().price(stepped.tree, facts.located, known)
        assert found == Model().price(stepped.tree, facts.located)
