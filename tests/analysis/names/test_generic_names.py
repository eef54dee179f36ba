"""Which specific procedure a reference by a generic name means: by type, kind and rank."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.generic_names import specific_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.ir.expr import Ref
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


_DEFINED = """
module defined
  type point
    real(8) :: x
  end type point
  interface operator(//)
    module procedure pair
  end interface
  interface operator(+)
    module procedure both, signed
  end interface
  interface operator(.not.)
    module procedure negated
  end interface
  interface put
    module procedure put_integer, put_vector, put_logical, put_double
  end interface
contains
  function pair(a, b)
    integer, intent(in) :: a, b
    integer :: pair(2)
    pair = [a, b]
  end function
  function both(a, b)
    logical, intent(in) :: a, b
    logical :: both(2)
    both = [a, b]
  end function
  real(8) function signed(a)
    logical, intent(in) :: a
    signed = merge(1, 0, a)
  end function
  real(8) function negated(a)
    integer, intent(in) :: a
    negated = -a
  end function
  subroutine put_integer(a)
    integer, intent(in) :: a
  end subroutine
  subroutine put_vector(a)
    integer, intent(in) :: a(:)
  end subroutine
  subroutine put_logical(a)
    logical, intent(in) :: a
  end subroutine
  subroutine put_double(a)
    real(8), intent(in) :: a
  end subroutine
end module defined
subroutine unit(n, l)
  use mpi
  use defined
  integer, intent(in) :: n
  logical, intent(in) :: l
  call put({argument})
end subroutine unit
"""


@pytest.mark.parametrize(
    ("argument", "specific"),
    [
        ("n//n", None),
        ("l + l", None),
        ("+l", None),
        (".not. n", None),
        (".not. l", "put_logical"),
        ("n + n", "put_integer"),
        ("MPI_STATUS_IGNORE", None),  # an array
        ("MPI_COMM_WORLD", "put_integer"),
    ],
)
def test_operations_that_a_program_defines(argument: str, specific: str | None) -> None:
    unit = Analysed(_DEFINED.format(argument=argument), chain=("unit",))
    what = unit.leaf("call").what
    assert isinstance(what, Call)
    found = specific_of(what, "put", unit.scope)
    assert (None if found is None else found.unit.name) == specific


_TWICE = """
module first
  interface put
    module procedure put, put_logical
  end interface
contains
  subroutine put(a)
    integer, intent(in) :: a
  end subroutine
  subroutine put_logical(a)
    logical, intent(in) :: a
  end subroutine
end module first
module second
  interface {name}
    module procedure put_double
  end interface
contains
  subroutine put_double(a)
    real(8), intent(in) :: a
  end subroutine
end module second
subroutine unit(x)
  use first
  use second{renamed}
  real(8), intent(in) :: x
  call put(x)
end subroutine unit
"""


@pytest.mark.parametrize(("name", "renamed"), [("put", ""), ("set", ", only: put => set")])
def test_a_generic_name_of_two_modules(name: str, renamed: str) -> None:
    """One of them has a specific procedure of that name, which is not meant."""
    unit = Analysed(_TWICE.format(name=name, renamed=renamed), chain=("unit",))
    assert procedure_named(Ref("put", "put"), unit.scope) is None


def test_an_external_procedure_beside_a_generic_name_of_two_modules() -> None:
    texts = _TWICE.replace("procedure put, put", "procedure put").replace(
        "subroutine put(a)", "subroutine other(a)"
    )
    external = "subroutine put(a)\n  integer :: a\nend subroutine put\n"
    text = texts.format(name="put", renamed="")
    unit = Analysed(text, external, chain=("unit",))
    assert procedure_named(Ref("put", "put"), unit.scope) is None


_NUMBERED = """
module kinds
  use, intrinsic :: iso_fortran_env
  integer, parameter :: sp = kind(1.0), dp = kind(1d0), p15 = selected_real_kind(15, 307)
  interface put
    module procedure put_first, put_second
  end interface
contains
  subroutine put_first(a)
    {first}, intent(in) :: a
  end subroutine
  subroutine put_second(a)
    {second}, intent(in) :: a
  end subroutine
end module
subroutine unit(i, r, d, s, w, q)
  use kinds
  integer :: i
  real :: r
  double precision :: d
  real(sp) :: s
  real(dp) :: w
  real(8) :: q
  complex :: z
  call put({actual})
end subroutine
"""


@pytest.mark.parametrize(
    ("first", "second", "actual", "specific"),
    [
        # the procedures and the argument change together
        ("real", "double precision", "r", "put_first"),
        ("real", "double precision", "2*d", "put_second"),
        ("real(sp)", "real(dp)", "r", "put_first"),
        ("real(sp)", "real(dp)", "s", "put_first"),
        ("real", "real(kind=dp)", "w", "put_second"),
        ("integer", "integer(int64)", "i", "put_first"),
        ("integer", "real(8)", "r", "put_second"),
        ("real", "real(p15)", "q", "put_second"),
        ("real(4)", "real(8)", "q", "put_second"),
        ("real(4)", "real(8)", "1.0_8", "put_second"),
        ("real(real32)", "real(real64)", "w", "put_second"),
        ("real(4)", "real(8)", "d", "put_second"),
        ("integer(int16)", "integer(int32)", "i", "put_second"),
        # an option makes a default REAL one of the second kind
        ("real(4)", "real(8)", "r", None),
        ("real(4)", "real(8)", "s", None),
        ("real(4)", "real(8)", "2*r", None),
        ("real(4)", "real(8)", "1.0", None),
        ("real(real32)", "real(real64)", "r", None),
        ("real*4", "real*8", "r", None),
        ("real(4)", "real(p15)", "r", None),
        ("complex(4)", "complex(8)", "z", None),
        ("integer(int32)", "integer(int64)", "i", None),
        ("integer(int32)", "integer(int64)", "1", None),
        ("integer(int32)", "integer(int64)", "int(r)", None),
        ("real(8)", "real(16)", "d", None),
    ],
)
def test_options_may_set_default_kinds(
    first: str, second: str, actual: str, specific: str | None
) -> None:
    """``-fdefault-real-8``, ``-r8``, ``-fdefault-integer-8``, ``-i8``."""
    text = _NUMBERED.format(first=first, second=second, actual=actual)
    unit = Analysed(text, chain=("unit",))
    what = unit.leaf("call").what
    assert isinstance(what, Call)
    found = specific_of(what, "put", unit.scope)
    assert (None if found is None else found.unit.name) == specific
