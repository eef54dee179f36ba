"""Whether all that a program does is seen, and how little has to be asked for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.error_handlers import (
    doubt,
    errors_return,
    may_return,
    why_errors_return,
)
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.whole_program import has_unseen_calls, is_closed
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  use work
  implicit none
  integer :: ierr
  real(8) :: a(4)
  call MPI_Init(ierr)
  a = 1d0
  call first(a)
  call MPI_Finalize(ierr)
end program main
"""
_WORK = """\
module work
  implicit none
contains
  subroutine first(a)
    real(8), intent(inout) :: a(4)
    if (a(1) > 0d0) call second(a)
  end subroutine first
  subroutine second(a)
    real(8), intent(inout) :: a(4)
    {statement}
  end subroutine second
  subroutine never_called(a)
    real(8), intent(inout) :: a(4)
    call elsewhere(a)
  end subroutine never_called
end module work
"""


def _effects(folder: Path, statement: str) -> Effects:
    files = {"main.f90": _PROGRAM, "work.f90": _WORK.format(statement=statement)}
    return Stepped.of(folder, files).facts()[0].effects


@pytest.mark.parametrize("statement", ["call elsewhere(a)", "if (a(2) > 0d0) call elsewhere(a)"])
def test_a_call_of_the_unknown_needs_no_summary(statement: str, tmp_path: Path) -> None:
    effects = _effects(tmp_path, statement)
    assert not may_return(effects)  # nothing was asked yet
    assert errors_return(effects)
    assert may_return(effects)
    assert not is_closed(effects)
    assert not effects.known.summaries
    why = why_errors_return(effects)
    assert why is not None
    assert "what elsewhere does is not known" in why


@pytest.mark.parametrize(
    "statement",
    [
        "a = 2d0 * a",
        "call dscal(4, 2d0, a, 1)",
        "call random_number(a)",
        "call first(a)",
    ],
)
def test_what_is_known_is_not_unseen(statement: str, tmp_path: Path) -> None:
    effects = _effects(tmp_path, statement)
    assert not has_unseen_calls(effects)
    assert not errors_return(effects)
    assert doubt(effects) is None
    assert is_closed(effects)


def test_what_call_statements_do_not_show_is_found_by_summaries(tmp_path: Path) -> None:
    effects = _effects(tmp_path, "a(1) = elsewhere(a)")
    assert not has_unseen_calls(effects)
    assert errors_return(effects)
    assert not is_closed(effects)


def test_what_is_assumed_to_be_pure_is_not_unseen(tmp_path: Path) -> None:
    scopes = _effects(tmp_path, "call elsewhere(a)").scopes
    assert has_unseen_calls(Effects(scopes))
    assert not has_unseen_calls(Effects(scopes, Assumed(frozenset({"elsewhere"}))))
