"""Programs with a collective operation between loops that fill its blocks and that use them."""

from __future__ import annotations

from pathlib import Path

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree

REAL = "MPI_DOUBLE_PRECISION"
WORLD = "MPI_COMM_WORLD, ierr)\n"
_PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 60
  integer :: me, np, ierr, i, p, q, root, m, request, most
  integer, allocatable :: counts(:), starts(:), same(:), types(:), bytes(:)
  real(8), allocatable :: s(:,:), r(:,:), x(:,:), a(:), b(:), flat(:), parts(:)
  real(8), pointer :: far(:)
  real(8) :: total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  root = np/2
  m = n
  allocate(s(n,np), r(n,np), x(n,0:np+1), a(n), b(n), flat(n*np), parts(n*np))
  allocate(counts(0:np-1), starts(0:np-1), same(0:np-1), far(n*np), types(np), bytes(np))
  do p = 1, np
    counts(p-1) = mod(311*p + n, n)
    starts(p-1) = n*(p - 1)
  end do
  same = counts(me); types = MPI_DOUBLE_PRECISION; bytes = [(8*n*(p - 1), p = 1, np)]
  s = me; r = 0; x = 0; b = 0; flat = 0; parts = me; total = 0; far = 0; most = maxval(counts)
  do i = 1, n
    a(i) = me + 0.25d0*i
  end do
  do q = 1, 3
{body}  end do
  print '(i0, 8z17)', me, sum(s), sum(r), sum(x), sum(a), sum(b), sum(flat), sum(parts), total
  call MPI_Finalize(ierr)
end program main
"""


def program(body: str, n: int = 60) -> str:
    return _PROGRAM.format(body=body).replace("n = 60", f"n = {n}")


def loop(statement: str, head: str = "p = 1, np", count: str = "n") -> str:
    """A loop over blocks with a loop over the elements of one."""
    return (
        f"    do {head}\n      do i = 1, {count}\n        {statement}\n      end do\n    end do\n"
    )


BLOCKS = f"n, {REAL}"
ALLTOALL = f"    call MPI_Alltoall(s, {BLOCKS}, r, {BLOCKS}, {WORLD}"
USE = loop("x(i,p) = x(i,p) + sqrt(abs(r(i,p)))")
BCAST = f"    call MPI_Bcast(r, n*np, {REAL}, root, {WORLD}"


def units(tmp_path: Path, text: str) -> UnitFacts:
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    return UnitFacts(tree.units_of(str(path))[0], effects, "\n", uniformity)
