"""Operations and assignments that a program may define (F2018 10.1.5, 10.2.1.2)."""

from __future__ import annotations

import pytest

from asphalt.analysis.call_graph.operators import is_intrinsic_assignment, is_intrinsic_operation
from asphalt.ir.expr import Op
from asphalt.ir.stmt import Assign
from support.analysed import Analysed, e

UNIT = """
module defined
  type point
    real :: x
  end type point
{interface}contains
  subroutine set(a, b)
    type(point), intent(out) :: a
    real, intent(in) :: b
    a%x = b
  end subroutine set
end module defined
subroutine unit(n, v, m)
  use defined
  integer, intent(in) :: n
  real :: v(n), m(n,n), w(n), s
  logical :: l
  character(4) :: c
  type(point) :: p
  s = 0
  v = s
  v = w
  v = 2*w + s
  s = sum(v)
  s = v
  v = m
  l = n
end subroutine unit
"""
_INTERFACE = "  interface assignment(=)\n    module procedure set\n  end interface\n"
_OF = "  interface operator({})\n    module procedure other\n  end interface\n"
_SYMBOLS = ("+", "-", "*", "**", "//", "==", "<", ".and.", ".not.")
_OPERATORS = "".join(map(_OF.format, _SYMBOLS))
_BOUND = """  type :: bound
  contains
    procedure :: other
    generic :: operator({}) => other
  end type bound
"""
_INTRINSIC = [
    "n + 1",
    "2*v",
    "v + w",
    "-m",
    "s**n",
    "c//c",
    "l .and. l",
    "n < 3",
    "c == c",
    ".not. l",
]
_PERHAPS_DEFINED = [
    "n//n",
    "m*v",
    "v == m",
    "l + l",
    "+l",
    ".not. n",
    "n .and. n",
    "c - c",
    "p + s",
]


@pytest.mark.parametrize("text", _INTRINSIC)
def test_intrinsic_operations(text: str) -> None:
    expr = e(text)
    assert isinstance(expr, Op)
    assert is_intrinsic_operation(
        expr, Analysed(UNIT.format(interface=_OPERATORS), chain=("unit",)).scope
    )


@pytest.mark.parametrize("text", _PERHAPS_DEFINED)
def test_operations_that_may_be_defined(text: str) -> None:
    expr = e(text)
    assert isinstance(expr, Op)
    seen = Analysed(UNIT.format(interface=_OPERATORS), chain=("unit",)).scope
    assert not is_intrinsic_operation(expr, seen)
    assert is_intrinsic_operation(expr, Analysed(UNIT.format(interface=""), chain=("unit",)).scope)


@pytest.mark.parametrize(
    ("definition", "text", "intrinsic"),
    [
        (_OF.format(".bs."), "p + s", True),
        (_OF.format("-"), "p + s", True),
        (_INTERFACE, "p + s", True),
        (_BOUND.format("*"), "p + s", True),
        (_OF.format("+"), "p + s", False),
        (_BOUND.format("+"), "p + s", False),
        (_OF.format(".EQ."), "p == s", False),
        (_OF.format("=="), "p .eq. s", False),
    ],
)
def test_a_definition_of_another_operator_does_not_count(
    definition: str, text: str, intrinsic: bool
) -> None:
    expr = e(text)
    assert isinstance(expr, Op)
    scope = Analysed(UNIT.format(interface=definition), chain=("unit",)).scope
    assert is_intrinsic_operation(expr, scope) is intrinsic


@pytest.mark.parametrize(
    ("text", "intrinsic"),
    [
        ("s = 0", True),
        ("v = s", True),
        ("v = w", True),
        ("v = 2*w + s", True),
        ("s = v", False),
        ("v = m", False),
        ("l = n", False),
    ],
)
def test_assignments(text: str, intrinsic: bool) -> None:
    unit = Analysed(UNIT.format(interface=_INTERFACE), chain=("unit",))
    what = unit.leaf(text).what
    assert isinstance(what, Assign)
    assert is_intrinsic_assignment(what, unit.scope) is intrinsic
