"""Which named constants stand in subscripts and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.call_graph.index_constants import index_constants
from support.stepping import Stepped

_UNIT = """\
module kinds
  integer, parameter :: num = kind(1.d0), ng = 2
end module kinds
subroutine unit(a, n)
  use kinds
  implicit none
  integer, intent(in) :: n
  real(num), intent(inout) :: a(n)
  integer :: i, j
  {declared}
  j = 1
  do i = 1, n
    {statement}
  end do
end subroutine unit
"""


@pytest.mark.parametrize(
    ("statement", "declared", "names"),
    [
        ("a(i) = a(i) + ng", "", []),
        ("a(i) = a(i + ng)", "", ["ng"]),
        # kinds are known whatever sizes are
        ("a(i) = a(i)*real(n, num)", "", []),
        ("a(i) = a(i)*aint(a(i), kind=num)", "", []),
        ("a(i) = real(a(i + ng), num)", "", ["ng"]),
        # an array has the name of the function
        ("a(i) = a(i)*real(ng)", "real(num) :: real(5)", ["ng"]),
        # what becomes an integer may be a subscript
        ("j = int(a(i), ng); a(j) = 1", "", ["ng"]),
        ("a(int(real(ng))) = 1", "", ["ng"]),
    ],
)
def test_constants(statement: str, declared: str, names: list[str], tmp_path: Path) -> None:
    text = _UNIT.format(statement=statement, declared=declared)
    facts = next(
        one for one in Stepped.of(tmp_path, {"a.f90": text}).facts() if one.unit.name == "unit"
    )
    assert list(index_constants(facts.scope)) == names
