"""Structures that a called procedure sets up: their arrays have the shapes that it gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import splitting
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import single_waits
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

_TEXT = """\
module fields
  implicit none
  type field
    integer :: n, m, rows
    real(8), allocatable :: v(:,:)
  end type field
contains
  subroutine make(f, n, m)
    type(field), intent(out) :: f
    integer, intent(in) :: n, m
    f%n = n
    f%m = m
    f%rows = n
    allocate (f%v(0:n+1,0:m+1))
    f%v = 0
  end subroutine make
  subroutine narrow(f)
    type(field), intent(inout) :: f
    deallocate (f%v)
    f%rows = f%n/2 - 1
    allocate (f%v(0:f%n/2,0:2*f%m+3))
    f%v = 0
  end subroutine narrow
end module fields
module state
  use fields
  implicit none
  type(field), save :: held, other
end module state
program heat
  use mpi
  use {used}
  implicit none
{declared}  integer :: i, j, step, rank, nprocs, below, above, ierr, req(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  above = merge(rank + 1, MPI_PROC_NULL, rank < nprocs - 1)
  call make(g, 12, {m})
  call make(h, 12, {m})
{more}  do j = 0, g%m
    do i = 0, g%rows
      g%v(i,j) = i*j + rank
    end do
  end do
  do step = 1, 4
    call MPI_Irecv(g%v(0,0), g%n + 2, MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Isend(g%v(0,g%m), g%n + 2, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, req(2), &
                   ierr)
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)
    do j = 1, g%m
      do i = 1, g%rows
        h%v(i,j) = g%v(i,j) + 0.1d0*(g%v(i-1,j) + g%v(i+1,j) + g%v(i,j-1) - 3*g%v(i,j))
      end do
    end do
    do j = 1, g%m
      do i = 1, g%rows
        g%v(i,j) = h%v(i,j)
      end do
    end do
  end do
  print *, rank, sum(g%v), sum(h%v)
  call MPI_Finalize(ierr)
end program heat
"""


def _text(where: str, m: int = 9, more: str = "") -> str:
    if where == "module":
        declared, used = "", "state"
        given = _TEXT.replace("g%", "held%").replace("h%", "other%")
        given = given.replace("make(g,", "make(held,").replace("make(h,", "make(other,")
        more = more.replace("(g)", "(held)")
    else:
        given, used, declared = _TEXT, "fields", "  type(field) :: g, h\n"
    return given.format(used=used, declared=declared, m=m, more=more)


@pytest.mark.parametrize("where", ["program", "module"])
@pytest.mark.parametrize("m", [pytest.param(2, marks=pytest.mark.wide), 9])
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_the_results_are_the_same(where: str, m: int, mpi: Mpi, tmp_path: Path) -> None:
    text = _text(where, m)
    given = Stepped.of(tmp_path / "given", {"heat.f90": text})
    tree = Stepped.of(tmp_path / "split", {"heat.f90": text})
    tree.applied(single_waits)
    assert tree.applied(splitting, code_motion, unit="heat") > 1
    name = "held" if where == "module" else "g"
    assert f"do j = 2, {name}%m" in tree.text("heat.f90")
    results = [
        one.result(mpi, tmp_path / folder, ["heat.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("where", ["program", "module"])
@pytest.mark.parametrize(
    "more", ["  call narrow(g)\n", "  if (nprocs > 2) call narrow(g)\n", "  call unseen(g)\n"]
)
def test_another_shape_keeps_the_nest_whole(where: str, more: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"heat.f90": _text(where, more=more)})
    tree.applied(single_waits)
    tree.applied(splitting, unit="heat")
    assert "do j = 2," not in tree.text("heat.f90")


_CHILD = (
    _text("program", 9)
    .replace(
        "    real(8), allocatable :: v(:,:)\n",
        "    real(8), allocatable :: v(:,:)\n  contains\n    procedure :: shrink => narrow\n",
    )
    .replace(
        "end type field\n",
        "end type field\n  type, extends(field) :: child\n    integer :: k = 0\n  end type child\n",
    )
    .replace("end module fields\n", "{of_the_child}end module fields\n")
    .replace("type(field), intent(inout)", "class(field), intent(inout)")
    .replace("type(field) :: g, h", "type(child) :: g\n  type(field) :: h")
    .replace(
        "  call make(g, 12, 9)\n",
        "  g%n = 12\n  g%m = 9\n  g%rows = 12\n  allocate (g%v(0:13,0:10))\n  {shrinks}\n",
    )
)


_OF_THE_CHILD = """\
  subroutine again(c)
    type(child), intent(inout) :: c
    deallocate (c%field%v)
    allocate (c%field%v(0:6,0:21))
  end subroutine again
  subroutine copied(c)
    type(child), intent(inout) :: c
    type(field) :: other
    call make(other, 5, 20)
    c%field = other
  end subroutine copied
  subroutine touched(c)
    type(child), intent(inout) :: c
    c%field%rows = 12
  end subroutine touched
"""


@pytest.mark.parametrize(
    ("shrinks", "splits"),
    [
        ("g%v = 0", True),
        ("call touched(g)", True),
        ("call narrow(g%field)", False),
        ("call g%shrink()", False),
        ("call g%field%shrink()", False),
        ("call again(g)", False),
        ("call copied(g)", False),
    ],
)
def test_an_inherited_array_is_changed_as_one_of_the_parent(
    shrinks: str, splits: bool, tmp_path: Path
) -> None:
    text = _CHILD.format(shrinks=shrinks, of_the_child=_OF_THE_CHILD)
    tree = Stepped.of(tmp_path, {"heat.f90": text})
    tree.applied(single_waits)
    tree.applied(splitting, unit="heat")
    assert ("do j = 2," in tree.text("heat.f90")) is splits
