"""Procedures with automatic arrays, called with allocatable arrays of modules: inlined."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.buffers import allocation_hoisting
from asphalt.transforms.inlining import inline
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
