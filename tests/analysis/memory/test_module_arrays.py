"""Procedures with automatic arrays, called with allocatable arrays of modules: inlined."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.shapes import shape_of
from asphalt.ir.tree import leaves
from asphalt.transforms.buffers import allocation_hoisting
from asphalt.transforms.inlining import inline
from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed
from support.stepping import Stepped

_PROGRAM = """\
module fields
  implicit none
  integer :: n = 0
  real(8), allocatable :: t(:,:,:)
contains
  subroutine sizes(me)
    integer, intent(in) :: me
    n = 5 + me
  end subroutine sizes
end module fields
program main
  use mpi
  use fields
  implicit none
  integer :: me, it, l, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call sizes(me)
  allocate (t(-1:n,n,3))
  t = 0
  do it = 1, 2
    do l = 1, 3
      call exchange(t(-1,1,l))
    end do
  end do
{more}  call MPI_Finalize(ierr)
end program main
subroutine exchange(a)
  use mpi
  use fields
  implicit none
  real(8) :: a(-1:n,n), scale(n)
  integer :: ierr
{begin}  scale = 1
  call MPI_Sendrecv(a(1,1), 1, MPI_DOUBLE_PRECISION, 0, 1, a(2,2), 1, MPI_DOUBLE_PRECISION, &
                    0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  a(:,1) = a(:,1) + scale(1)
end subroutine exchange
subroutine other
  use fields
  implicit none
{other}end subroutine other
"""


def _prepared(tmp_path: Path, more: str = "", other: str = "", begin: str = "") -> str:
    text = _PROGRAM.format(more=more, other=other, begin=begin)
    stepped = Stepped.of(tmp_path, {"main.f90": text})
    stepped.applied(inline, allocation_hoisting, unit="main")
    return stepped.text("main.f90").split("end program")[0]


def test_the_array_has_the_shape_of_its_only_allocation(tmp_path: Path) -> None:
    found = [line.strip() for line in _prepared(tmp_path).split("t = 0\n")[1].splitlines()]
    loops = [line for line in found if line.startswith(("do ", "allocate", "deallocate", "end do"))]
    assert loops == [
        "allocate(scale(n))", "do it = 1, 2", "do l = 1, 3", "end do", "end do",
        "deallocate(scale)",
    ]  # fmt: skip
    assert "MPI_Sendrecv(t(1,1,l)" in "".join(found).replace(" ", "")


@pytest.mark.parametrize(
    "changed",
    [
        {"other": "  deallocate (t)\n  allocate (t(n,n,n))\n"},
        {"other": "  t = reshape([1d0], [1, 1, 1])\n"},
        {"other": "  call shaped(t)\n"},
        {"other": "  n = 2\n", "more": "  call other\n"},
        {"begin": "  n = n + 1\n"},
        {"more": "  call unknown\n"},
    ],
)
def test_an_array_that_may_have_another_shape_keeps_the_call(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    assert "call exchange" in _prepared(tmp_path, **changed)


_ELSEWHERE = """\
module fields
  implicit none
  integer, parameter :: n = 6
  integer :: m = 4
  real(8), allocatable :: t(:,:,:)
contains
  subroutine grow(x)
    real(8), allocatable, intent(inout) :: x(:,:,:)
    if (.not. allocated(x)) allocate (x(2,2,2))
  end subroutine grow
  subroutine halve(x)
    real(8), intent(inout) :: x(-1:,:,:)
    x = 0.5d0*x
  end subroutine halve
end module fields
program main
  use mpi
  use fields
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  allocate (t({bounds}))
  t = 1 + m
{more}  call step
  call MPI_Finalize(ierr)
end program main
subroutine step
  use fields
  implicit none
  integer :: l
{step}  do l = 1, 3
    call exchange(t(-1,1,l))
  end do
end subroutine step
subroutine exchange(a)
  use mpi
  use fields
  implicit none
  real(8) :: a(-1:n,n)
  integer :: ierr
  call MPI_Sendrecv(a(1,1), 1, MPI_DOUBLE_PRECISION, 0, 1, a(2,2), 1, MPI_DOUBLE_PRECISION, &
                    0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
end subroutine exchange
subroutine other(w)
  use fields
  implicit none
  real(8), allocatable :: w(:,:,:)
{other}end subroutine other
"""


def _step(tmp_path: Path, **parts: str) -> str:
    given = {"more": "", "other": "", "step": "", "bounds": "-1:n,n,3"} | parts
    text = _ELSEWHERE.format(**given)
    stepped = Stepped.of(tmp_path, {"main.f90": text})
    stepped.applied(inline, unit="step")
    return stepped.text("main.f90").split("subroutine step")[1]


@pytest.mark.parametrize(
    "harmless",
    [{}, {"more": "  call halve(t)\n"}, {"other": "  t = m\n"}, {"other": "  deallocate (t)\n"}],
)
def test_the_only_allocation_counts_for_all_units(tmp_path: Path, harmless: dict[str, str]) -> None:
    """It has constant bounds: the array has them wherever it is allocated."""
    assert "MPI_Sendrecv(t(1,1,l)" in _step(tmp_path, **harmless)


@pytest.mark.parametrize(
    "changed",
    [
        {"other": "  deallocate (t)\n  allocate (t(n,n,n))\n"},
        {"other": "  t = reshape([1d0], [1, 1, 1])\n"},
        {"other": "  t = w\n"},
        {"other": "  call move_alloc(w, t)\n"},
        {"other": "  call grow(t)\n"},
        {"other": "!$ allocate (t(n,n,n))\n"},
        {"bounds": "-1:m,n,3"},
        {"bounds": "n+2,n,3"},
        {"step": "  call unknown\n"},
    ],
)
def test_a_shape_that_may_change_counts_for_no_unit(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    assert "call exchange" in _step(tmp_path, **changed)


@pytest.mark.parametrize(
    ("second", "lower"),
    [("t(0:m)", "0"), ("t(0:2)", "0"), ("t(m)", "lbound(t,1)"), ("t(m:2*m)", "lbound(t,1)")],
)
def test_a_lower_bound_that_all_allocations_give(second: str, lower: str) -> None:
    module = "module fields\n  integer :: m\n  real, allocatable :: t(:)\nend module\n"
    main = (
        "program main\n  use fields\n  allocate (t(0:m))\n  deallocate (t)\n"
        f"  allocate ({second})\n  call work\nend program\n"
    )
    work = "subroutine work\n  use fields\n  m = 1\nend subroutine\n"
    unit = Analysed(module + main + work, chain=("work",))
    at = next(leaves(unit.body[0]))
    found = shape_of("t", unit.scope, unit.values, at)
    assert found is not None
    assert expr_text(found.lower[0].expression()) == lower


@pytest.mark.parametrize(
    ("value", "lower"),
    [
        ("w", "0"),
        ("(w)", "lbound(t,1)"),  # the bounds of an expression begin at 1
        ("w + 1", "lbound(t,1)"),
        ("t + w", "0"),  # it is allocated
        ("1", "0"),
    ],
)
def test_an_assignment_may_allocate_an_array(value: str, lower: str) -> None:
    module = "module fields\n  real, allocatable :: t(:), w(:)\nend module\n"
    main = (
        "program main\n  use fields\n  integer :: n\n  read *, n\n  if (n > 1) allocate (t(0:9))\n"
        f"  allocate (w(0:9))\n  t = {value}\n  call work\nend program\n"
    )
    work = "subroutine work\n  use fields\n  t(3) = 1\nend subroutine\n"
    unit = Analysed(module + main + work, chain=("work",))
    found = shape_of("t", unit.scope, unit.values, next(leaves(unit.body[0])))
    assert found is not None
    assert expr_text(found.lower[0].expression()) == lower
