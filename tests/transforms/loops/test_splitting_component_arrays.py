"""Nests are split where a structure holds the arrays and their sizes: a section that names the
elements of a message, and a count that is as large, need no bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import splitting
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import single_waits
from support.mpi_run import MPICH, OPENMPI, installed
from support.stepping import Stepped

_TEXT = """\
module grids
  use mpi
  implicit none
  type grid
    integer :: n, m, north, south
    real(8), allocatable :: u(:,:), v(:,:)
  end type grid
contains
  subroutine shrink(g)
    type(grid), intent(inout) :: g
    g%m = g%m - 1
  end subroutine shrink
  subroutine step(g)
    type(grid), intent(inout){attribute} :: g
    {declared}integer :: i, j, ierr, req(4)
    {sizes}
    call MPI_Irecv(g%u({low}:{n},0), {count}, MPI_DOUBLE_PRECISION, g%south, 1, MPI_COMM_WORLD, &
                   req(1), ierr)
    call MPI_Irecv(g%u({low}:{n},{m}+1), {count}, MPI_DOUBLE_PRECISION, g%north, 2, &
                   MPI_COMM_WORLD, req(2), ierr)
    call MPI_Isend(g%u(1:{n},{m}), {n}, MPI_DOUBLE_PRECISION, g%north, 1, MPI_COMM_WORLD, &
                   req(3), ierr)
    call MPI_Isend(g%u(1:{n},1), {n}, MPI_DOUBLE_PRECISION, g%south, 2, MPI_COMM_WORLD, &
                   req(4), ierr)
    {between}
    call MPI_Waitall(4, req, MPI_STATUSES_IGNORE, ierr)
    do j = 1, {m}
      do i = 1, {n}
        g%v(i,j) = g%u(i,j) + 0.1d0*(g%u(i,j-1) + g%u(i,j+1) - 2*g%u(i,j))
      end do
    end do
    g%u(1:{n},1:{m}) = g%v(1:{n},1:{m})
  end subroutine step
end module grids
program heat
  use grids
  implicit none
  type(grid) :: a
  integer :: i, j, it, ierr, rank, nprocs
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  a%north = merge(MPI_PROC_NULL, rank + 1, rank + 1 == nprocs)
  a%south = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  a%n = 5
  a%m = 4
  allocate (a%u(a%n,0:a%m+1), a%v(a%n,0:a%m+1))
  do j = 0, a%m + 1
    do i = 1, a%n
      a%u(i,j) = i*j + 10*rank + i
      a%v(i,j) = -j
    end do
  end do
  do it = 1, 3
    call step(a)
  end do
  print '(i3,2z18)', rank, sum(a%u), sum(a%v)
  call MPI_Finalize(ierr)
end program heat
"""
_DIRECT = {
    "attribute": "", "declared": "", "sizes": "", "n": "g%n", "m": "g%m", "low": "1",
    "count": "g%n", "between": "",
}  # fmt: skip
_LOCAL = {"declared": "integer :: n, m\n    ", "sizes": "n = g%n\n    m = g%m",
          "n": "n", "m": "m", "count": "n"}  # fmt: skip


def _tree(folder: Path, parts: dict[str, str]) -> Stepped:
    return Stepped.of(folder, {"heat.f90": _TEXT.format(**{**_DIRECT, **parts})})


def _is_split(tree: Stepped, m: str) -> bool:
    tree.applied(single_waits)
    tree.applied(splitting, code_motion, unit="step")
    return f"do j = 2, {m} - 1" in tree.text("heat.f90")


@pytest.mark.parametrize("parts", [_DIRECT, _LOCAL], ids=["components", "local copies"])
def test_sizes_and_arrays_of_one_structure(parts: dict[str, str], tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    tree = _tree(tmp_path / "split", parts)
    assert _is_split(tree, parts["m"])
    given = _tree(tmp_path / "given", parts)
    results = [
        one.result(mpi, tmp_path / folder, ["heat.f90"], 3, ("-O1", "-fcheck=all"))
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "parts",
    [
        {"attribute": ", target"},  # pointers may change g%m
        {"between": "g%m = g%m - 1"},
        {"between": "call shrink(g)"},
        {"count": "g%n + 1"},  # the message goes on behind the section
        {"count": "2*g%n"},
        {"low": "2"},
        {**_LOCAL, "between": "m = m - 1"},
        {**_LOCAL, "count": "n + 1"},
        {
            **_LOCAL,
            "between": "deallocate (g%v)\n    allocate (g%v(n,0:m+1))\n    m = size(g%v, 2)",
        },
    ],
)
def test_others_keep_the_nest_whole(parts: dict[str, str], tmp_path: Path) -> None:
    assert not _is_split(_tree(tmp_path, parts), {**_DIRECT, **parts}["m"])
