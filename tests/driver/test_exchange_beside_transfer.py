"""A transfer in a procedure whose exchange has become tiles is still overlapped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.config.passes import PASSES
from asphalt.project import Project
from support.judging import SETTINGS

TEXT = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 4, nz = 6
  integer :: i, k, p, np, me, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  real(8) :: h(n,0:nz), g(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  h = me
  call MPI_Sendrecv(h(1,nz), n, MPI_DOUBLE_PRECISION, modulo(me+1,np), 4, g, n, &
                    MPI_DOUBLE_PRECISION, modulo(me-1,np), 4, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
  do k = 1, nz - 1
    do i = 1, n
      h(i,k) = sqrt(h(i,k)*2 + i)
    end do
  end do
  h(:,0) = g
  do k = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,k,p) = i + 10*k + 100*p + 1000*me
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(h), sum(r), ierr
  call MPI_Finalize(ierr)
end program main
"""


def test_both_are_transformed(tmp_path: Path) -> None:
    """What the runtime does is known: it sets no error handler."""
    (tmp_path / "main.f90").write_text(TEXT)
    project = Project(tmp_path, settings=replace(SETTINGS, passes=tuple(PASSES)))
    (change,) = project.transform()
    after = change.after.decode()
    assert "call asphalt_x%begin(" in after
    assert after.index("call asphalt_irecv(g") < after.index("h(i,k) = sqrt")
    assert after.index("h(i,k) = sqrt") < after.index("call asphalt_wait_all(2, ")
