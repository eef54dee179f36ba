"""Statements that leave variables alone, as their names tell: what ``at`` says of them, too."""

from __future__ import annotations

import pytest

from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from support.analysed import Analysed

_MODULE = """\
module state
  implicit none
  integer :: kept
{more}
contains
  integer function changed(k)
    integer, intent(in) :: k
    kept = k
    changed = k
  end function changed
  subroutine set(one, other)
    integer, intent(out) :: one
    logical, intent(in) :: other
    kept = merge(1, 0, other)
    one = kept
  end subroutine set
end module state
subroutine s(a, n, code)
  use state
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: code
  real, intent(inout) :: a(n)
  integer :: i
  i = 1
{begin}
  {statement}
{end}
end subroutine s
"""
_ASSIGNMENT = "  interface assignment(=)\n    procedure set\n  end interface"


def _alone(statement: str, more: str = "", begin: str = "", end: str = "") -> bool:
    """Whether ``leaves_alone`` says that a statement defines neither a dummy argument nor a
    module variable."""
    text = _MODULE.format(statement=statement, more=more, begin=begin, end=end)
    unit = Analysed(text, chain=("s",))
    reaching = ReachingDefinitions(unit.scope, unit.effects)
    number = reaching.graph.of(unit.leaf(statement))[0]
    storages = {"code", "state::kept"}
    found = reaching.accesses.leaves_alone(reaching.graph.points[number], storages)
    done = reaching.accesses.at(number)
    assert not found or not (done.everything or done.exposed or storages & set(done.defined))
    return found


@pytest.mark.parametrize(
    "statement", ["a(i) = a(i)*2 + kept", "i = code", "if (i == code) a(1) = 0", "do i = 1, n"]
)
def test_what_assigns_to_others_leaves_a_variable_alone(statement: str) -> None:
    assert _alone(statement, end="  end do" if statement.startswith("do") else "")


@pytest.mark.parametrize(
    "statement",
    [
        "code = 0",
        "kept = 0",
        "do code = 1, n",
        "i = changed(2)",  # which defines a variable of the module
        "a(changed(2)) = 0",
        "if (changed(2) == 1) a(1) = 0",
        "call set(i, .true.)",
        "print *, i",
    ],
)
def test_what_may_define_a_variable_has_to_be_looked_at(statement: str) -> None:
    assert not _alone(statement, end="  end do" if statement.startswith("do") else "")


def test_a_defined_assignment_has_to_be_looked_at() -> None:
    assert not _alone("i = .true.", more=_ASSIGNMENT)


def test_another_name_of_a_variable_has_to_be_looked_at() -> None:
    assert not _alone("other = 1", begin="  associate (other => code)", end="  end associate")


def test_what_openmp_executes_before_has_to_be_looked_at() -> None:
    assert not _alone("a(i) = 0", begin="!$ code = &")
