"""The shapes of arrays, where they are known."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr
from support.analysed import Analysed, e

UNIT = """
subroutine unit(n, m, a, b, c, d)
  use sizes, only: wide, grid
  integer, intent(in) :: n
  integer :: m, k
  integer, parameter :: rows = 3
  real :: a(n, 0:m-1), b(rows, *), c(:, 2:), d(n)
  real :: local(2*rows, -1:1)
  real, allocatable :: w(:,:), w2(:,:)
  real, allocatable, target :: w3(:,:)
  real, pointer :: q(:), p(:,:)
  {before}
  k = 0
  {after}
end subroutine unit
"""
SIZES = """
module sizes
  integer, parameter :: wide = 5
  real :: grid(wide, 2)
  real, allocatable :: free(:)
end module sizes
"""


def shape(name: str, before: str = "", after: str = "") -> Shape | None:
    unit = Analysed(UNIT.format(before=before, after=after), SIZES)
    return shape_of(name, unit.scope, unit.values, unit.leaf("k = 0"))


def bounds(found: Shape | None) -> tuple[list[Poly], list[Poly | None]]:
    assert found is not None
    return list(found.lower), list(found.extent)


def polys(*texts: str) -> list[Poly]:
    return [poly(e(text)) for text in texts]


@pytest.mark.parametrize(
    ("name", "lower", "extent"),
    [
        ("a", ["1", "0"], ["n", "m"]),
        ("local", ["1", "-1"], ["6", "3"]),
        ("grid", ["1", "1"], ["5", "2"]),
        ("d", ["1"], ["n"]),
        ("c", ["1", "2"], ["size(c, 1)", "size(c, 2)"]),
    ],
)
def test_bounds(name: str, lower: list[str], extent: list[str]) -> None:
    assert bounds(shape(name)) == (polys(*lower), polys(*extent))


_HALO = """
subroutine halo(h, u, n)
  integer, intent(in) :: h
  integer :: n
  real :: u(1-h:, n:)
  {before}
  k = 0
end subroutine halo
"""


@pytest.mark.parametrize(
    ("before", "lower"),
    [
        ("", ["1 - h", "n"]),
        ("n = n + 1", ["1 - h", "lbound(u, 2)"]),
        ("call other(n)", ["1 - h", "lbound(u, 2)"]),
    ],
)
def test_lower_bounds_of_assumed_shape(before: str, lower: list[str]) -> None:
    """They are what the declaration says, unless its variables change behind the entry."""
    unit = Analysed(_HALO.format(before=before))
    found = shape_of("u", unit.scope, unit.values, unit.leaf("k = 0"))
    assert bounds(found)[0] == polys(*lower)


def test_assumed_size() -> None:
    found = shape("b")
    assert found is not None
    assert found.extent == (Poly.constant(3), None)
    assert found.stride(1) == Poly.constant(3)


def test_scalars_have_no_shape() -> None:
    assert shape("n") is None
    assert shape("nothing") is None


def test_bounds_are_those_on_entry() -> None:
    """``a(n, 0:m-1)`` stays as large as it was when ``m`` changes."""
    found = shape("a", before="m = 2*m")
    assert found is not None
    assert not found.stated
    assert found.extent[1] != poly(e("m"))


@pytest.mark.parametrize("after", ["m = 1", "call elsewhere(m)", "read *, m"])
def test_bounds_that_change_later_may_have_changed_before(after: str) -> None:
    found = shape("a", after=after)
    assert found is not None
    assert not found.stated


def test_the_only_allocation_of_a_local_array() -> None:
    assert bounds(shape("w", before="allocate(w(0:n, 4))")) == (
        polys("0", "1"),
        polys("n + 1", "4"),
    )


@pytest.mark.parametrize("option", ["source", "mold"])
def test_an_array_that_is_allocated_like_another_one(option: str) -> None:
    before = f"allocate(w(0:n, 4))\nallocate(w2, {option}=w)"
    expected = (polys("0", "1"), polys("n + 1", "4"))
    assert bounds(shape("w2", before=before)) == expected
    assert bounds(shape("w", before=before)) == expected
    for other in ("w + 1", "w(:,:)", "elsewhere(w)"):
        assert bounds(shape("w2", before=before.replace("=w)", f"={other})"))) != expected
    again = before.replace("allocate(w2", "deallocate(w)\nallocate(w(n, 4))\nallocate(w2")
    assert bounds(shape("w2", before=again)) != expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("allocate(w(n, 4))\ndeallocate(w)\nallocate(w(m, 4))", ""),
        ("allocate(w(m, 4))\nm = 3", ""),
        ("allocate(w(n, 4))\nw = reshape([1.0], [1, 1])", ""),
        ("allocate(w(n, 4))\ncall elsewhere(w)", ""),
        ("", "allocate(w(n, 4))"),
        ("", ""),
    ],
)
def test_other_allocations_leave_it_to_the_run(before: str, after: str) -> None:
    found = shape("w", before, after)
    assert found is not None
    assert not found.stated
    assert found.extent[0] == poly(e("size(w, 1)"))


_BOTH = "allocate(w(0:n, 4), w2(n+1, 4))\n"


@pytest.mark.parametrize(
    "assignments",
    [
        "w = 1.0\nw2 = w",
        "w2 = w\nw = w2",  # neither is the first to change its shape
        "w = 2*w2 + abs(w)*n",
        "if (n > 3) w = w2",
        "where (w2 > 0) w = w2",
        "do k = 1, n\nw = w2\nend do\ndeallocate(w, w2)",
        "w = -max(w2, 0.0)",
    ],
)
def test_an_assignment_of_arrays_with_its_extents_keeps_a_shape(assignments: str) -> None:
    assert bounds(shape("w", _BOTH + assignments.partition("\nde")[0])) == (
        polys("0", "1"),
        polys("n + 1", "4"),
    )
    found = shape("w", _BOTH, assignments)
    assert found is not None
    assert found.stated


@pytest.mark.parametrize(
    "assignments",
    [
        "w = w2",  # before it is allocated: with the bounds of the other one
        "allocate(w(0:n, 4), w2(n, 4))\nw = w2",
        "allocate(w2(n+1, 4))\nw = w2\nallocate(w(0:n, 4), stat=k)",
        f"{_BOTH}deallocate(w)\nw = w2",
        f"{_BOTH}do k = 1, n\nw = w2\ndeallocate(w)\nend do",
        f"{_BOTH}w2 = reshape([1.0], [1, 1])\nw = w2",  # of that shape by then
        f"{_BOTH}w = w2(:, 2:)",
        f"{_BOTH}w = transpose(w2)",
        f"{_BOTH}w = merge(w2, w, n > 3)",  # no function that is known to be elementwise
        f"{_BOTH}w = elsewhere(w2)",
        f"{_BOTH}w = w2 .with. w",
        f"{_BOTH}w = b",  # of assumed size
        f"{_BOTH}call move_alloc(w2, w)",
        f"{_BOTH}p => w3\nw3 = reshape([1.0], [1, 1])\nw = w3",
        f"{_BOTH}call elsewhere(more(w))",
        f"{_BOTH}10 w = w2\ndeallocate(w)\nif (n > 3) goto 10",
    ],
)
def test_an_assignment_that_may_give_another_shape(assignments: str) -> None:
    found = shape("w", assignments)
    assert found is not None
    assert not found.stated
    assert found.extent[0] == poly(e("size(w, 1)"))


_STRUCTURES = """
module fields
  implicit none
  type field
    integer :: rows = 2, columns
    real, allocatable :: at(:,:)
  contains
    procedure :: grow
  end type field
contains
  subroutine grow(this)
    class(field), intent(inout) :: this
    this%at = reshape([1.0], [1, 1])
  end subroutine grow
  subroutine fill(at)
    real, intent(inout) :: at(:,:)
    at = 0
  end subroutine fill
end module fields
subroutine unit(n)
  use fields
  integer, intent(in) :: n
  type(field) :: u, v
{declared}  integer :: k
  {columns}
  {before}
  k = 0
end subroutine unit
"""
_PARTS = "allocate(u%at(0:u%columns, 4), v%at(0:u%columns, 4))\n"


def component_shape(before: str, declared: str = "") -> Shape | None:
    columns = "" if "u%columns = n" in before else "u%columns = n"
    text = _STRUCTURES.format(before=before, declared=declared, columns=columns)
    unit = Analysed(text, chain=("unit",))
    return shape_of("u%at", unit.scope, unit.values, unit.leaf("k = 0"))


@pytest.mark.parametrize(
    "after", ["u%at = 1", "v%at = 1\nu%at = v%at + 2", "u%at(1, 1) = 2", "call fill(u%at)"]
)
def test_a_component_keeps_its_shape(after: str) -> None:
    assert bounds(component_shape(_PARTS + after)) == (polys("0", "1"), polys("n + 1", "4"))


@pytest.mark.parametrize(
    "after",
    [
        "u = v",
        "u%at = v%at(:, 2:)",
        "call u%grow()",
        "call grow(u)",
        "call elsewhere(u)",
        "read *, u",
        "u%columns = 3",
        "associate (other => u)\ndeallocate(other%at)\nallocate(other%at(2, 2))\nend associate",
    ],
)
def test_a_component_that_may_get_another_shape(after: str) -> None:
    found = component_shape(_PARTS + after)
    assert found is None or not found.stated


_DEFINED = """
module switches
  interface assignment(=)
    module procedure switch
  end interface
  interface operator(//)
    module procedure pair
  end interface
contains
  subroutine switch(a, b)
    real, allocatable, intent(out) :: a(:)
    logical, intent(in) :: b
    allocate(a(merge(1, 2, b)))
  end subroutine switch
  function pair(a, b)
    real, intent(in) :: a, b
    real :: pair(2)
    pair = [a, b]
  end function pair
end module switches
subroutine unit(n, l, s)
  {use}
  integer, intent(in) :: n
  logical, intent(in) :: l
  real, intent(in) :: s
  real, allocatable :: w(:)
  integer :: k
  allocate(w(n))
  {assignment}
  k = 0
end subroutine unit
"""


@pytest.mark.parametrize(
    ("use", "assignment", "stated"),
    [
        ("use switches", "w = s", True),
        ("use switches", "w = l", False),
        ("use switches", "w = s//s", False),
        ("use switches", "w = w//s", False),
    ],
)
def test_assignments_that_a_program_defines(use: str, assignment: str, stated: bool) -> None:
    unit = Analysed(_DEFINED.format(use=use, assignment=assignment), chain=("unit",))
    found = shape_of("w", unit.scope, unit.values, unit.leaf("k = 0"))
    assert found is not None
    assert found.stated is stated


@pytest.mark.parametrize(
    ("before", "stated"),
    [
        (f"call elsewhere(u)\nu%columns = n\n{_PARTS}", True),
        (f"u%at = v%at(:, 2:)\ndeallocate(u%at)\n{_PARTS}", True),
        (f"u%at = v%at(:, 2:)\n{_PARTS[:-2]}, stat=k)\n", False),  # it may fail and go on
        (f"do k = 1, n\nif (k > 1) call elsewhere(u)\n{_PARTS}end do\n", False),
    ],
)
def test_what_comes_only_before_the_allocation(before: str, stated: bool) -> None:
    found = component_shape(before)
    assert (found is not None and found.stated) is stated


def test_a_component_that_a_pointer_may_reach() -> None:
    before = _PARTS + "p => u\ndeallocate(p%at)\nallocate(p%at(2, 2))"
    declared = "  type(field), pointer :: p\n  target :: u\n"
    found = component_shape(before, declared)
    assert found is None or not found.stated


def test_strides() -> None:
    found = shape("local")
    assert found is not None
    assert found.rank == 2
    assert [found.stride(d).value for d in range(3)] == [1, 6, 18]


@pytest.mark.parametrize(("name", "expected"), [("a", e("n")), ("local", e("2*rows"))])
def test_strides_as_the_source_states_them(name: str, expected: Expr) -> None:
    found = shape(name)
    assert found is not None
    assert found.stated_stride(1) == expected


def test_strides_that_the_source_does_not_state() -> None:
    found = shape("a")
    assert found is not None
    assert found.stated_stride(2) is None  # a lower bound of its own
