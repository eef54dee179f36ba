"""All names in a statement, those of implied DO loops and of kinds with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.names.references import named_by
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, n, wp_)
  use kinds, only: wp
  implicit none
  integer, intent(in) :: n, wp_
  real(8), intent(inout) :: a(n)
  integer :: i, j
  {statement}
end subroutine unit
"""


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("a = [(1.0*i, i = 1, n)]", {"a", "i", "n"}),
        ("a = [(2.0_wp, i = 1, n)]", {"a", "i", "n", "wp"}),
        ("a = [((1.0*j, j = 1, i), i = 1, n)]", {"a", "i", "j", "n"}),
        ("a = [1.0_wp, a(j)]", {"a", "j", "wp"}),
    ],
)
def test_names_of_array_constructors(statement: str, names: set[str], tmp_path: Path) -> None:
    (facts,) = Stepped.of(tmp_path, {"unit.f90": _UNIT.format(statement=statement)}).facts()
    (leaf,) = facts.unit.body
    assert named_by(leaf.what) == names
