"""Which arguments of MPI calls are integers of the default kind, and which are no arrays."""

from __future__ import annotations

import pytest

from asphalt.analysis.data_flow.default_integers import is_default_integer
from asphalt.analysis.memory.contiguity import may_be_array
from support.analysed import Analysed, e

_MODULES = """
module kinds
  integer, parameter :: ik = 8
  integer(ik) :: far
  type :: link
    integer :: rank, tags(2)
    integer(ik) :: long
  end type
  type :: grid
    integer :: comm
    type(link) :: to(3), one
    integer :: counts(3)
  end type
end module
"""
_UNIT = """
subroutine unit(g, many)
  use kinds, only: grid, far
  type(grid) :: g, many(2)
  integer, parameter :: ik = 4
  integer :: n, list(5)
  integer(ik) :: own
  integer(8) :: wide
  real :: x
  real, allocatable :: a(:,:)
  logical :: yes
  n = 1
end subroutine
"""


@pytest.fixture(scope="module")
def unit() -> Analysed:
    return Analysed(_MODULES + _UNIT, chain=("unit",))


@pytest.mark.parametrize(
    "text",
    [
        "n",
        "own",
        "3*n - list(2)",
        "g%comm",
        "g%one%rank",
        "g%to(2)%rank",
        "g%to(list(1))%tags(n)",
        "many(1)%to(n)%rank + 1",
        "size(a)",
        "size(a, 1)*n",
        "ubound(a, 2)",
        "mod(n + 1, 4)",
        "merge(n, 2, yes)",
        "int(x)",
    ],
)
def test_scalars_of_the_default_kind(text: str, unit: Analysed) -> None:
    assert is_default_integer(e(text), unit.scope)
    assert not may_be_array(e(text), unit.scope)


@pytest.mark.parametrize(
    "text",
    [
        "far",  # its kind is a constant of its module, which has another value here
        "wide",
        "n + wide",
        "g%one%long",
        "g%to(1)%long",
        "x",
        "3_8",
        "size(a, kind=8)",
        "size(a, 1, 8)",
        "int(x, 8)",
        "g%none",
    ],
)
def test_other_kinds(text: str, unit: Analysed) -> None:
    assert not is_default_integer(e(text), unit.scope)


@pytest.mark.parametrize(
    "text",
    [
        "list",
        "list(1:1)",
        "g%counts",
        "g%to%rank",
        "many%comm",
        "g%one%tags",
        "g%to(list)%rank",
        "ubound(a)",
        "ubound(a, kind=4)",
        "shape(a)",
        "transfer(x, list(1), 2)",
    ],
)
def test_arrays(text: str, unit: Analysed) -> None:
    assert may_be_array(e(text), unit.scope)
