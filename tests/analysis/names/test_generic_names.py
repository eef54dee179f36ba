"""Which specific procedure a reference by a generic name means: by type, kind and rank."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.generic_names import specific_of
from asphalt.ir.stmt import Call
from support.analysed import Analysed

UNIT = """
module notes
  integer, parameter :: dp = kind(1d0)
  type point
    real(dp) :: x, at(3)
    integer :: n
  end type point
  type other
    integer :: n
  end type other
  type listed
    sequence
    integer :: n
  end type listed
  interface note
    module procedure note_integer, note_single, note_double, note_vector, note_point, note_other
  end interface
  interface put
    module procedure put_point, put_listed
  end interface
  interface take
    module procedure take_any, take_integer
  end interface
  interface each
    module procedure each_double, each_integer
  end interface
contains
  subroutine note_integer(a)
    integer, intent(in) :: a
  end subroutine
  subroutine note_single(a)
    real, intent(in) :: a
  end subroutine
  subroutine note_double(a)
    real(dp), intent(in) :: a
  end subroutine
  subroutine note_vector(a)
    real(dp), intent(in) :: a(:)
  end subroutine
  subroutine note_point(a)
    type(point), intent(in) :: a
  end subroutine
  subroutine note_other(a)
    type(other), intent(in) :: a
  end subroutine
  subroutine put_point(a)
    type(point), intent(in) :: a
  end subroutine
  subroutine put_listed(a)
    type(listed), intent(in) :: a
  end subroutine
  subroutine take_any(a)
    class(*), intent(in) :: a
  end subroutine
  subroutine take_integer(a)
    integer, intent(in) :: a
  end subroutine
  elemental subroutine each_double(a)
    real(dp), intent(in) :: a
  end subroutine
  elemental subroutine each_integer(a)
    integer, intent(in) :: a
  end subroutine
  real(dp) function double(i)
    integer, intent(in) :: i
    double = i
  end function
  function triple(i)
    integer, intent(in) :: i
    real(dp) :: triple(3)
    triple = i
  end function
end module notes
subroutine unit(n, w)
  use notes
  integer, intent(in) :: n
  real(dp) :: w(n)
  real :: s
  type(point) :: p, many(4)
  type(other) :: o
  type(listed) :: l
  {call}
end subroutine unit
"""


def meant(call: str) -> str | None:
    unit = Analysed(UNIT.format(call=call), chain=("unit",))
    what = unit.leaf("call").what
    assert isinstance(what, Call)
    found = specific_of(what, getattr(what.procedure, "name", ""), unit.scope)
    return None if found is None else found.unit.name


@pytest.mark.parametrize(
    ("argument", "specific"),
    [
        ("n + 1", "note_integer"),
        ("3", "note_integer"),
        ("s*2", "note_single"),
        ("1.0", "note_single"),
        ("real(w(1))", "note_single"),
        ("real(n, dp)", "note_double"),
        ("real(n, kind=dp)", "note_double"),
        ("int(s)", "note_integer"),
        ("s + w(1)", "note_double"),
        ("2d0*sqrt(2d0) + n", "note_double"),
        ("n**2", "note_integer"),
        ("s**n", "note_single"),
        ("1d0", "note_double"),
        ("1.0_dp", "note_double"),
        ("-2d0", "note_double"),
        ("2d0*w(1)", "note_double"),
        ("dble(n)", "note_double"),
        ("p%x", "note_double"),
        ("many(2)%x", "note_double"),
        ("p%at(2)", "note_double"),
        ("double(n)", "note_double"),
        ("p%n", "note_integer"),
        ("w", "note_vector"),
        ("w(1:1)", "note_vector"),
        ("p%at", "note_vector"),
        ("many%x", "note_vector"),
        ("2*w", "note_vector"),
        ("triple(n)", "note_vector"),
        ("p", "note_point"),
        ("many(n)", "note_point"),
        ("o", "note_other"),
        ("unseen(n)", None),
        ("w*n*unseen(2)", None),
    ],
)
def test_the_one_that_takes_the_argument(argument: str, specific: str | None) -> None:
    assert meant(f"call note({argument})") == specific


@pytest.mark.parametrize(
    ("call", "specific"),
    [
        ("call put(l)", "put_listed"),
        ("call put(o)", "put_listed"),  # as far as can be told: another definition of one type
        ("call put(p)", None),  # likewise
        ("call take(s)", "take_any"),
        ("call take(n)", None),  # either takes it
        ("call each(2*w)", "each_double"),
        ("call each(n)", "each_integer"),
    ],
)
def test_types_that_several_procedures_may_take(call: str, specific: str | None) -> None:
    assert meant(call) == specific
