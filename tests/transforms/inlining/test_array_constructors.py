"""Inlining of procedures with array constructors."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import inline
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_PROGRAM = """\
module kinds
  implicit none
  integer, parameter :: wp = kind(1d0)
end module kinds
module halo
  use mpi
  use kinds
  implicit none
  integer :: above = MPI_PROC_NULL
  type pair
    integer :: a, b
  end type pair
contains
  subroutine exchange(u, n, k)
    integer :: n, k, u(n), ierr, i, three(3)
    real(wp) :: x(2)
    {body}
    call MPI_Recv(u, n, MPI_INTEGER, above, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine exchange
end module halo
program step
  use halo
  implicit none
  integer :: v(0:4), i{own}
  call MPI_Init(i)
  v = 7
  do i = 1, 2
    call exchange(v, 5, i)
  end do
  print '(20i6)', v
  call MPI_Finalize(i)
end program step
"""
_INLINED = {
    "values": ("three = (/ n, k, u(2) /)\n    u(1:3) = three", ["three = (/ 5, i, v(1) /)"]),
    "brackets": ("u(1:3) = [k, n - k, 3]*2", ["= [i, 5 - i, 3]*2"]),
    "implied-do": (
        "u = [(u(i) + i, i = 1, n)]",
        ["v = [(v(asphalt_i_1-1) + asphalt_i_1, asphalt_i_1 = 1, 5)]"],
    ),
    "nested": ("u(1:4) = [((i*ierr, ierr = 1, 2), i = k, k + 1)]", []),
    "type": ("x = [real(wp) :: k, 2]\n    u(1:2) = int(x)", ["[real(wp) :: i, 2]"]),
    "none": ("if (size([integer ::]) > 0) u = 0", []),
}


@pytest.mark.parametrize("name", sorted(_INLINED))
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
def test_it_is_inlined(name: str, mpi: Mpi, tmp_path: Path) -> None:
    body, lines = _INLINED[name]
    text = _PROGRAM.format(body=body, own="")
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    assert tree.applied(inline) == 1, tree.refusals(inline)
    assert [line for line in lines if line not in tree.text("a.f90")] == []
    same_lines(mpi, tmp_path, text, tree.text("a.f90").encode(), 1)


@pytest.mark.parametrize(
    ("body", "own", "code"),
    [
        # of a derived type: an operation on it may be a procedure, and the name is not resolved
        ("u(1) = size([pair :: pair(1, 2)])", ", pair", "ASP045"),
        # ``k`` stands for the caller's i, which is the name of the loop there
        ("u(1:3) = [(k*j, j = 1, 3)]", "", "ASP045"),
    ],
)
def test_it_stays(body: str, own: str, code: str, tmp_path: Path) -> None:
    text = _PROGRAM.format(body=body, own=own)
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    assert tree.applied(inline) == 0
    assert code in [one.code.id for one in tree.refusals(inline)]
