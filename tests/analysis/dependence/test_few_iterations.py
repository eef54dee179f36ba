"""Loops with so few iterations that each can have a variable of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.few_iterations import MOST, few_iterations, has_own_indices
from asphalt.ir.tree import Do
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, n)
  implicit none
  integer, parameter :: fields = 6, many = {most}
  integer, intent(in) :: n
  real, intent(inout) :: a(n)
  integer :: i, k
  {head}
    {statement}
  {end}
end subroutine unit
"""


def loop_of(folder: Path, head: str, statement: str = "a(i) = 1", end: str = "end do") -> Stepped:
    text = _UNIT.format(head=head, statement=statement, end=end, most=MOST)
    return Stepped.of(folder, {"a.f90": text})


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("do i = 1, 4", 4),
        ("do i = 1, fields", 6),
        ("do i = 0, fields", 7),
        ("do i = 1, many", MOST),
        ("do i = 0, many", None),
        ("do i = 3, 3", None),
        ("do i = 3, 1", None),
        ("do i = 1, n", None),
        ("do i = 1, 4, 2", None),
        ("do while (a(1) > 0)", None),
        ("do", None),
    ],
)
def test_trip_counts(head: str, count: int | None, tmp_path: Path) -> None:
    (facts,) = loop_of(tmp_path, head).facts()
    (loop,) = facts.unit.body
    assert isinstance(loop, Do)
    assert few_iterations(loop, facts) == count


@pytest.mark.parametrize(
    ("statement", "own"),
    [
        ("a(i) = 1", False),
        ("if (a(i) > 0) a(i) = 1", False),
        ("forall (k = 1:n) a(k) = i", True),
        ("do concurrent (k = 1:n)\n a(k) = i\nend do", True),
    ],
)
def test_indices_of_statements(statement: str, own: bool, tmp_path: Path) -> None:
    (facts,) = loop_of(tmp_path, "do i = 1, 4", statement).facts()
    (loop,) = facts.unit.body
    assert isinstance(loop, Do)
    assert has_own_indices(loop) is own
