"""The shape that a called procedure gives to an allocatable, where it is known."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.shapes import shape_of
from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed, e

_PROGRAM = """\
module fields
  implicit none
  integer, save :: pad = 2
  integer, parameter :: two = 2
  type sizes
    integer :: k
  end type sizes
  type field
    integer :: n, m = 3
    real :: other
    type(sizes) :: inner
    real, allocatable :: val(:,:)
  contains
    procedure :: shrink
  end type field
  interface set
    module procedure set_one, set_two
  end interface set
contains
  subroutine make(f, n, m)
    type(field), {intent} :: f
    integer, {sizes} :: n, m
{local}{make}  end subroutine make
  subroutine outer(f, n)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
{outer}  end subroutine outer
  subroutine step(f)
    type(field), intent(inout) :: f
{step}  end subroutine step
  subroutine shrink(f)
    class(field), intent(inout) :: f
    deallocate (f%val)
    allocate (f%val(2,2))
  end subroutine shrink
  integer function counted(f)
    type(field), intent(inout) :: f
    counted = f%n
{counted}  end function counted
  subroutine set_one(f, n)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    f%other = n
  end subroutine set_one
  subroutine set_two(f, x)
    type(field), intent(inout) :: f
    real, intent(in) :: x
    f%other = x
    deallocate (f%val)
    allocate (f%val(2,2))
  end subroutine set_two
  subroutine clear(f)
    type(field), intent(out) :: f
    f%other = 0
  end subroutine clear
  recursive subroutine again(f, n)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    allocate (f%val(n,n))
    if (n > 3) call again(f, n - 1)
  end subroutine again
  subroutine plain(a, b, n)
    real, allocatable, intent(inout) :: a(:), b(:)
    integer, intent(in) :: n
    allocate (a(n), b(0:n))
  end subroutine plain
  subroutine ensure(a, n)
    real, allocatable, intent(inout) :: a(:)
    integer, intent(in) :: n
    if (.not. allocated(a)) allocate (a(n))
  end subroutine ensure
end module fields
program main
  use fields
  implicit none
  type(field) :: now, then
  real, allocatable :: u(:), v(:)
  integer :: i, nx, ny
  real :: big(4,4)
{before}  nx = 7
{call}{after}  print *, nx
{last}{contains}end program main
subroutine fill(x)
  implicit none
  real :: x(*)
  x(1) = 0
end subroutine fill
"""
_MAKE = "    f%n = n\n    allocate (f%val(0:n+1,m))\n"
_PARTS = {
    "intent": "intent(out)",
    "sizes": "intent(in)",
    "make": _MAKE,
    "call": "  call make(now, nx, 2*nx)\n",
} | dict.fromkeys(("local", "outer", "step", "counted", "before", "after", "last", "contains"), "")


def _bounds(name: str = "now%val", **parts: str) -> str:
    """The bounds of an array of the main program; ``?``: they are not known."""
    unit = Analysed(_PROGRAM.format(**_PARTS | parts), chain=("main",))
    found = shape_of(name, unit.scope, unit.values, unit.leaf("print *, nx"))
    assert found is not None
    if not found.stated:
        return "?"
    pairs = zip(found.lower, found.extent, strict=True)
    return ", ".join(
        f"{expr_text(low.expression())}+{expr_text(extent.expression()) if extent else '*'}"
        for low, extent in pairs
    )


_KNOWN = "0+9, 1+14"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"call": "  call make(m=2*nx, n=nx, f=now)\n"},
        {"make": "    f%n = n\n    allocate (f%val(0:f%n+1,m))\n    f%val = 0\n"},
        {
            "local": "    integer :: last\n",
            "make": "    last = n + 1\n    allocate (f%val(0:last,m))\n",
        },
        {"make": "    allocate (f%val(0:2*n-(6+two)+two+1-n+6,m))\n"},
        {
            "intent": "intent(inout)",
            "make": "    if (allocated(f%val)) deallocate (f%val)\n" + _MAKE,
        },
        {
            "intent": "intent(inout)",
            "make": "    if (.not. allocated(f%val)) then\n" + _MAKE + "    end if\n",
        },
        {"outer": "    call make(f, n, 2*n)\n", "call": "  call outer(now, nx)\n"},
        {"step": "    f%val = 0\n    f%other = f%n\n", "after": "  call step(now)\n"},
        {"step": "    call fill(f%val)\n", "after": "  call step(now)\n"},
        {"step": "    associate (x => f%val)\n      x = 0\n    end associate\n",
         "after": "  call step(now)\n"},
        {"after": "  i = counted(now)\n"},
        {"after": "  call set(now, 3)\n"},
        {"last": "  call clear(now)\n"},
        {"after": "  call make(then, 2, 2)\n"},
        {"before": "  now%val = big\n", "intent": "intent(inout)"},
    ],
)  # fmt: skip
def test_a_called_procedure_gives_the_shape(parts: dict[str, str]) -> None:
    assert _bounds(**parts) == _KNOWN


@pytest.mark.parametrize(
    "parts",
    [
        # other allocations
        {"after": "  call make(now, 2, 2)\n"},
        {"after": "  call now%shrink()\n"},
        {"after": "  call set(now, 3.0)\n"},
        {"call": "  call again(now, nx)\n"},
        {"step": "    call f%shrink()\n", "after": "  call step(now)\n"},
        {"step": "    deallocate (f%val)\n    allocate (f%val(2,2))\n",
         "after": "  call step(now)\n"},
        {"counted": "    deallocate (f%val)\n    allocate (f%val(2,2))\n",
         "after": "  i = counted(now)\n"},
        {"counted": "    deallocate (f%val)\n    allocate (f%val(2,2))\n",
         "step": "    f%other = counted(f)\n", "after": "  call step(now)\n"},
        {"step": "    associate (g => f)\n      deallocate (g%val)\n"
                 "      allocate (g%val(2,2))\n    end associate\n",
         "after": "  call step(now)\n"},
        {"outer": "    call make(f, n, 2*n)\n    call make(f, 2, 2)\n",
         "call": "  call outer(now, nx)\n"},
        # assignments, MOVE_ALLOC, input
        {"after": "  now = then\n"},
        {"step": "    type(field) :: g\n    f = g\n", "after": "  call step(now)\n"},
        {"step": "    real :: x(2,2)\n    x = 0\n    f%val = x\n", "after": "  call step(now)\n"},
        {"step": "    real, allocatable :: x(:,:)\n    allocate (x(2,2))\n"
                 "    call move_alloc(x, f%val)\n", "after": "  call step(now)\n"},
        {"step": "    call unseen(f)\n", "after": "  call step(now)\n"},
        {"after": "  call clear(now)\n  now%val = big\n"},
        # allocations that some executions of the call do not reach
        {"make": "    if (n > 3) allocate (f%val(0:n+1,m))\n"},
        {"make": "    if (n > 30) return\n" + _MAKE},
        {"make": "    if (n > 3) then\n" + _MAKE + "    else\n      allocate (f%val(2,2))\n"
                 "    end if\n"},
        {"make": "    if (n > 3) goto 10\n" + _MAKE + "    return\n 10 allocate (f%val(2,2))\n"},
        {"call": "  if (nx > 3) call make(now, nx, 2*nx)\n"},
        {"intent": "intent(inout)", "before": "  now%val = big\n",
         "make": "    if (.not. allocated(f%val)) allocate (f%val(0:n+1,m))\n"},
        {"intent": "intent(inout)", "before": "  now%val = big\n", "local": "    integer :: s\n",
         "make": "    allocate (f%val(0:n+1,m), stat=s)\n"},
        # bounds that have another value behind the call
        {"make": _MAKE.replace("(0:n+1", "(0:f%n+1") + "    f%n = 2\n"},
        {"make": _MAKE.replace("(0:n+1", "(0:f%n+1"), "after": "  now%n = 2\n",
         "step": "    f%n = 2\n"},
        {"make": _MAKE.replace("(0:n+1", "(0:f%n+1"), "step": "    f%n = 2\n",
         "after": "  call step(now)\n"},
        {"make": _MAKE.replace("(0:n+1", "(0:f%m+1"), "before": "  now%m = 7\n",
         "after": "  call clear(now)\n"},
        {"sizes": "intent(inout)", "make": _MAKE + "    n = 2\n", "call":
         "  ny = 2*nx\n  call make(now, nx, ny)\n"},
        {"sizes": "value", "make": "    n = n/2\n" + _MAKE},
        {"after": "  nx = 2\n"},
        {"call": "  do i = 1, 2\n  call make(now, nx, 2*nx)\n  nx = nx + 1\n  end do\n"},
        {"local": "    integer, save :: last = 2\n",
         "make": "    allocate (f%val(0:last,m))\n    last = n\n"},
        {"local": "    integer :: last\n",
         "make": "    last = n\n    if (m > 3) last = m\n    allocate (f%val(0:last,m))\n"},
        {"make": "    allocate (f%val(0:pad,m))\n", "after": "  pad = 3\n"},
        {"contains": "contains\n  subroutine inside\n    now%n = 2\n    deallocate (now%val)\n"
                     "    allocate (now%val(2,2))\n  end subroutine inside\n",
         "after": "  call inside\n"},
    ],
)  # fmt: skip
def test_a_shape_that_may_be_another_one(parts: dict[str, str]) -> None:
    assert _bounds(**parts) == "?"


def test_intrinsic_functions_in_bounds() -> None:
    assert _bounds(make="    allocate (f%val(max(n, two),m))\n") == "1+max(7, 2), 1+14"


def test_what_is_deallocated_before_the_allocation_has_its_shape() -> None:
    found = _bounds(call="  call clear(now)\n  allocate (now%val(2,nx))\n", after="  now%val = 1\n")
    assert found == "1+2, 1+7"


def test_allocatable_dummies() -> None:
    call = "  call plain(u, v, nx)\n"
    assert _bounds("u", call=call) == "1+7"
    assert _bounds("v", call=call) == "0+8"
    assert _bounds("u", call=call, after="  call plain(u, v, 3)\n") == "?"
    assert _bounds("u", call="  call ensure(u, nx)\n  call ensure(v, 3)\n") == "1+7"
    assert _bounds("u", call="  call ensure(u, nx)\n  call ensure(u, 3)\n") == "?"
    assert _bounds("u", call="  call move_alloc(v, u)\n") == "?"


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ({}, "7"),
        ({"make": "    f%n = 2*m - n\n"}, "21"),
        ({"outer": "    call make(f, n + 1, n)\n", "call": "  call outer(now, nx)\n"}, "8"),
        ({"step": "    f%val = f%n\n", "after": "  call step(now)\n"}, "7"),
        ({"after": "  nx = 2\n"}, "now%n"),
        ({"make": "    f%n = n\n    if (m > 2) f%n = m\n"}, "now%n"),
        ({"make": "    if (m > 2) f%n = m\n"}, "now%n"),
        ({"make": "    f%n = m\n    read (*, *) f%n\n"}, "now%n"),
        ({"step": "    f%n = 3\n", "after": "  call step(now)\n"}, "now%n"),
        ({"after": "  call clear(now)\n"}, "now%n"),
        ({"after": "  now%n = 3\n"}, "now%n"),
        ({"after": "  now = then\n"}, "now%n"),
        ({"after": "  call unseen(now)\n"}, "now%n"),
        ({"call": "  if (nx > 2) call make(now, nx, nx)\n"}, "now%n"),
        (
            {
                "after": "  call inside\n",
                "contains": "contains\n  subroutine inside\n    now%n = 2\n  end subroutine\n",
            },
            "now%n",
        ),
    ],
)
def test_the_value_that_a_call_leaves_in_a_component(parts: dict[str, str], value: str) -> None:
    unit = Analysed(_PROGRAM.format(**_PARTS | parts), chain=("main",))
    part = unit.leaf("print *, nx")
    assert expr_text(unit.values.polynomial(e("now%n"), part).expression()) == value
