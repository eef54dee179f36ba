"""A component of an extended type has one designator, with or without its parents."""

import pytest

from asphalt.analysis.names.designators import own_designator
from asphalt.ir.expr import Component, Ref
from support.analysed import Analysed

_TEXT = """
subroutine work(x)
  type first
    integer :: n
    real, allocatable :: v(:)
  end type first
  type, extends(first) :: second
    integer :: m
  end type second
  type, extends(second) :: third
    type(second) :: inner
  end type third
  type(third) :: x
end subroutine work
"""


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("n", "x%n"),
        ("second%n", "x%n"),
        ("first%n", "x%n"),
        ("second%first%v", "x%v"),
        ("second%m", "x%m"),
        ("first", "x"),
        ("inner%m", "x%inner%m"),
        ("inner%first%n", "x%inner%n"),
        ("inner%first", "x%inner"),
        ("nothing%n", "x"),
    ],
)
def test_the_way_to_a_component_has_no_parents(path: str, own: str) -> None:
    expr: Ref | Component = Ref("x", "x")
    for part in path.split("%"):
        expr = Component(expr, part, part)
    assert own_designator(expr, Analysed(_TEXT, chain=("work",)).scope) == own
