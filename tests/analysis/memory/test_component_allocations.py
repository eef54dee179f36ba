"""The shape of a component of a structure of a module: that of its one ALLOCATE in the program."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.shapes import shape_of
from asphalt.ir.tree import leaves
from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed

_PROGRAM = """\
module fields
  implicit none
  type field
    integer :: n, m
    real, allocatable :: val(:)
  end type field
  type(field), save{attributes} :: now, then
  real, allocatable, save :: u(:), v(:)
  integer, save :: size_of_v = 4, k
contains
  subroutine make(f, n)
    type(field), {intent} :: f
    integer, intent(in) :: n
{make}  end subroutine make
  subroutine change(f)
    type(field), intent(inout) :: f
{change}  end subroutine change
  subroutine get(a, low, high)
    real, allocatable, intent(inout) :: a(:)
    integer, intent(in) :: low, high
    if (.not. allocated(a)) allocate (a(low:high))
  end subroutine get
end module fields
subroutine begin
  use fields
  implicit none
{begin}end subroutine begin
subroutine other{use}
  implicit none
{other}end subroutine other
subroutine work
  use fields
  implicit none
  print *, k
end subroutine work
program main
  use fields
  implicit none
{first}  call begin
{then}  call work
{last}end program main
"""
_PARTS = {
    "intent": "intent(out)",
    "make": "    f%n = n\n    allocate (f%val(0:f%n))\n",
    "begin": "  call make(now, 7)\n",
    "use": "\n  use fields",
} | dict.fromkeys(("attributes", "change", "other", "first", "then", "last"), "")


def _bounds(name: str = "now%val", **parts: str) -> str:
    """The bounds of an array in ``work``; ``?``: they are not known."""
    unit = Analysed(_PROGRAM.format(**_PARTS | parts), chain=("work",))
    found = shape_of(name, unit.scope, unit.values, next(leaves(unit.body[0])))
    assert found is not None
    extent = found.extent[0]
    if not found.stated or extent is None:
        return "?"
    return f"{expr_text(found.lower[0].expression())}+{expr_text(extent.expression())}"


@pytest.mark.parametrize(
    ("parts", "bounds"),
    [
        ({}, "0+now%n + 1"),
        ({"make": "    f%n = n\n    allocate (f%val(0:n))\n"}, "0+now%n + 1"),
        ({"make": "    allocate (f%val(0:n))\n"}, "0+8"),
        ({"make": "", "begin": "  now%n = 3\n  allocate (now%val(now%n))\n"}, "1+now%n"),
        ({"begin": "  k = 5\n  call make(now, k)\n", "make": "    allocate (f%val(n))\n"}, "1+k"),
        ({"change": "    f%val = f%n\n    f%m = 3\n", "then": "  call change(now)\n"},
         "0+now%n + 1"),
        ({"then": "  now%val = 0\n  now%m = 2\n", "last": "  deallocate (now%val)\n"},
         "0+now%n + 1"),
        ({"begin": "  call make(now, 7)\n  call make(then, 3)\n"}, "0+now%n + 1"),
        ({"other": "  now%n = 3\n"}, "0+now%n + 1"),  # nothing calls it
    ],
)  # fmt: skip
def test_the_only_allocation_of_a_component(parts: dict[str, str], bounds: str) -> None:
    assert _bounds(**parts) == bounds


@pytest.mark.parametrize(
    "parts",
    [
        {"then": "  now%n = 3\n"},
        {"last": "  now%n = 3\n  call work\n"},
        {"then": "  call make(now, 3)\n"},
        {"then": "  call other\n", "other": "  now%n = 3\n"},
        {"then": "  call other\n", "other": "  now = then\n"},
        {"then": "  call other\n", "other": "  now%val = [1., 2.]\n"},
        {"then": "  call other\n", "other": "  call change(now)\n", "change": "    f%n = 3\n"},
        {"then": "  call other\n", "other": "  call move_alloc(v, now%val)\n"},
        {"then": "  call other\n", "use": "\n  use fields, only: here => now",
         "other": "  here%n = 3\n"},
        {"then": "  call other\n",
         "other": "  associate (f => now)\n  f%n = 3\n  end associate\n"},
        {"then": "  call other\n",
         "other": "  deallocate (now%val)\n  allocate (now%val(2))\n"},
        {"then": "  call unseen(now)\n"},
        {"attributes": ", target"},
        {"intent": "intent(inout)", "then": "  call begin\n",
         "begin": "  k = k + 1\n  call make(now, k)\n",
         "make": "    f%n = n\n    if (.not. allocated(f%val)) allocate (f%val(0:f%n))\n"},
        {"begin": "  k = 5\n  call make(now, k)\n  k = 6\n",
         "make": "    allocate (f%val(n))\n"},
        {"begin": "  do k = 1, 2\n  call make(now, k)\n  end do\n",
         "make": "    allocate (f%val(n))\n"},
        {"make": "    f%n = n\n    allocate (f%val(0:f%n))\n    f%n = 2\n"},
    ],
)  # fmt: skip
def test_a_component_that_may_have_another_shape(parts: dict[str, str]) -> None:
    assert _bounds(**parts) == "?"


@pytest.mark.parametrize(
    ("parts", "bounds"),
    [
        ({"begin": "  call get(v, 0, 3)\n"}, "0+4"),
        ({"begin": "  k = 2\n  call get(v, 1, k)\n"}, "1+k"),
        ({"begin": "  k = 2\n  call get(v, 1, k + 1)\n  call get(u, 1, 9)\n"}, "1+k + 1"),
        ({"begin": "  k = 2\n  call get(v, 1, k)\n", "then": "  k = 3\n"}, "?"),
        ({"begin": "  call get(v, 0, 3)\n  call get(v, 0, 4)\n"}, "?"),
        ({"begin": "  call get(v, 0, 3)\n", "first": "  v = [1., 2.]\n"}, "?"),
        ({"begin": "  call get(v, 0, 3)\n  call unseen(v)\n"}, "?"),
        ({"begin": "  call get(v, 0, 3)\n  call move_alloc(u, v)\n"}, "?"),
    ],
)
def test_a_procedure_that_allocates_arrays_of_a_module(parts: dict[str, str], bounds: str) -> None:
    assert _bounds("v", **parts) == bounds
