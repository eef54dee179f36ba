"""Which expressions certainly have rank 0."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.contiguity import may_be_array
from asphalt.analysis.memory.ranks import is_scalar
from support.analysed import Analysed, e

UNIT = """
module shapes
  type point
    real :: x, at(3)
    character(4) :: name
  contains
    procedure :: length
  end type point
  type cloud
    type(point) :: one, all(5)
  end type cloud
  interface abs
    module procedure both
  end interface abs
contains
  function both(l)
    logical, intent(in) :: l
    real :: both(2)
    both = 0
  end function both
  real function length(this)
    class(point), intent(in) :: this
    length = this%x
  end function length
end module shapes
subroutine unit(n, v)
  use shapes
  integer, intent(in) :: n
  real :: v(n), t
  type(cloud) :: c, many(3)
  t = 0
end subroutine unit
"""


@pytest.mark.parametrize(
    ("text", "scalar"),
    [
        ("t + v(n)", True),
        ("v(2:n)", False),
        ("c%one%x", True),
        ("c%one%at", False),
        ("c%one%at(n)", True),
        ("c%one%at(1:2)", False),
        ("c%all%x", False),
        ("c%all(n)%x", True),
        ("c%all(n)%at(2)", True),
        ("c%all(1:2)%x", False),
        ("many%one%x", False),
        ("many(n)%one%x", True),
        ("many(n)%all(2)%at", False),
        ("many(n)%all(int(v))%x", False),
        ("c%one%length()", False),  # a function may return anything
        ("c%one%name(1:2)", False),  # a substring
        ("unseen%x", False),
        ("sqrt(t)", True),
        ("sum(v)*product(shape(v))", True),
        ("v(count(v > t) + size(v))", True),
        ("sum(v, 1)", False),  # of an array of any rank
        ("sum(v, mask=v > 0)", False),
        ("maxloc(v)", False),
        ("lbound(v)", False),
        ("abs(.true.)", False),  # the program extends it
    ],
)
def test_rank(text: str, scalar: bool) -> None:
    unit = Analysed(UNIT, chain=("unit",))
    assert is_scalar(e(text), unit.scope) is scalar
    assert not (scalar and may_be_array(e(text), unit.scope))
