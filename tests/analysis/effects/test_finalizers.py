"""Final subroutines are called where nothing calls them: where variables end (F2018 7.5.6.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.accesses import EffectKind
from support.stepping import Stepped

_TOKENS = """\
module tokens
  implicit none
  integer :: count = 0
  type :: token
    integer :: n = 0
  contains{final}
  end type token
contains
  subroutine release(t)
    type(token), intent(inout) :: t
    count = count + t%n
  end subroutine release
  subroutine work(t, n)
    integer, intent(in) :: n
    {declared}
    {body}
  end subroutine work
end module tokens
subroutine unit(n)
  use tokens
  implicit none
  integer, intent(in) :: n
  type(token) :: t
  type(token), allocatable :: a
  {statement}
end subroutine unit
"""
_FINAL = "\n    final :: release"
CALLED = {
    "a variable of a procedure that is called": (
        "call work(t, n)", "type(token), intent(in) :: t\n    type(token) :: own", "own%n = n",
    ),
    "a dummy that is undefined at first": ("call work(t, n)", "type(token), intent(out) :: t", ""),
    "what is deallocated": ("deallocate (a)", "type(token), intent(in) :: t", ""),
}  # fmt: skip
NOT_CALLED = {
    "a variable that stays": (
        "call work(t, n)", "type(token), intent(in) :: t\n    type(token), save :: own", "",
    ),
    "a pointer": (
        "call work(t, n)", "type(token), intent(in) :: t\n    type(token), pointer :: own", "",
    ),
    "a dummy that keeps its value": ("call work(t, n)", "type(token), intent(inout) :: t", ""),
}  # fmt: skip


def _effects(folder: Path, case: tuple[str, str, str], final: str = _FINAL) -> set[EffectKind]:
    statement, declared, body = case
    text = _TOKENS.format(statement=statement, declared=declared, body=body, final=final)
    (facts,) = [f for f in Stepped.of(folder, {"a.f90": text}).facts() if f.unit.name == "unit"]
    return {effect.kind for effect in facts.footprint(facts.unit.body[0]).effects}


@pytest.mark.parametrize("name", CALLED)
def test_it_may_do_anything(name: str, tmp_path: Path) -> None:
    assert EffectKind.UNKNOWN_CALL in _effects(tmp_path, CALLED[name])


@pytest.mark.parametrize("name", CALLED)
def test_without_final_subroutines_nothing_is_called(name: str, tmp_path: Path) -> None:
    bound = "\n    procedure, nopass :: release"
    assert EffectKind.UNKNOWN_CALL not in _effects(tmp_path, CALLED[name], bound)


@pytest.mark.parametrize("name", NOT_CALLED)
def test_what_does_not_end_calls_nothing(name: str, tmp_path: Path) -> None:
    assert EffectKind.UNKNOWN_CALL not in _effects(tmp_path, NOT_CALLED[name])
