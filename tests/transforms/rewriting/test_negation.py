"""Opposites of conditions: what turns round, and what keeps its .NOT."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.ir.stmt import Guarded
from asphalt.ir.tree import Leaf
from asphalt.transforms.rewriting.negation import opposite
from asphalt.unparse.expr_text import expr_text
from support.stepping import Stepped

_UNIT = """\
module own
  implicit none
  type :: mark
    integer :: number
  end type mark
  interface operator(==)
    module procedure same
  end interface
contains
  logical function same(a, b)
    type(mark), intent(in) :: a
    integer, intent(in) :: b
    same = a%number == b
  end function same
end module own
subroutine unit(ranks, u, v, on, marked, text)
  use own
  implicit none
  integer, intent(in) :: ranks, v(4)
  real(8), intent(in) :: u(4)
  logical, intent(in) :: on
  type(mark), intent(in) :: marked
  character(4), intent(in) :: text
  if ({condition}) return
end subroutine unit
"""


def _opposite(folder: Path, condition: str) -> str:
    stepped = Stepped.of(folder, {"unit.f90": _UNIT.format(condition=condition)})
    (facts,) = (one for one in stepped.facts() if one.unit.name == "unit")
    (leaf,) = (node for node in facts.unit.body if isinstance(node, Leaf))
    assert isinstance(leaf.what, Guarded)
    return expr_text(opposite(leaf.what.condition, facts.scope))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ranks == 1", "ranks /= 1"),
        ("(ranks /= 1)", "ranks == 1"),
        ("v(2) + 1 < ranks", "v(2) + 1 >= ranks"),
        ("marked%number >= 2", "marked%number < 2"),
        ("u(1) == 0", "u(1) /= 0"),
        ("on", ".not. on"),
        (".not. on", "on"),
        (".not. (ranks == 1)", "ranks == 1"),
        # neither holds for a NaN
        ("u(1) < 0", ".not. (u(1) < 0)"),
        # the program has no other operator
        ("marked == 1", ".not. (marked == 1)"),
        ("on .and. ranks == 1", ".not. (on .and. ranks == 1)"),
        ("text == 'none'", ".not. (text == 'none')"),
    ],
)
def test_opposites(condition: str, expected: str, tmp_path: Path) -> None:
    assert _opposite(tmp_path, condition) == expected
