"""INTENT(IN) dummies that MPI defines all the same: without an interface, no compiler objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project

_TEXT = """\
module m
  implicit none
contains
  subroutine settle(k, me)
    use mpi
    integer, intent(in) :: k, me
    integer :: ierr
    {settling}
  end subroutine settle
  subroutine pass_on(k, me)
    integer, intent(in) :: k, me
    call settle(k, me)
  end subroutine pass_on
  subroutine exchange(n, nz, np, me, s, r)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8), intent(out) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = sin(dble(i*z)) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_REAL8, r, n*nz, MPI_REAL8, MPI_COMM_WORLD, ierr)
  end subroutine exchange
end module m
program p
  use mpi
  use m
  implicit none
  integer :: me, np, ierr, k
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  if (me < np - 1) call MPI_Send(me, 1, MPI_INTEGER, me + 1, 3, MPI_COMM_WORLD, ierr)
  k = 4
  call {called}(k, me)
  allocate(s(24/k, k, np), r(24/k, k, np))
  call exchange(24/k, k, np, me, s, r)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program p
"""
_RECEIVED = "call MPI_Recv(k, 1, MPI_INTEGER, me - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"


@pytest.mark.parametrize("called", ["settle", "pass_on"])
@pytest.mark.parametrize(
    ("settling", "codes"),
    [
        (f"if (me > 0) {_RECEIVED}", ["ASP1001"]),
        ("call MPI_Bcast(k, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", [None]),
        ("call MPI_Send(k, 1, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, ierr)", [None]),
        ("call somewhere(k)", [None]),  # what is not seen keeps to the INTENT
    ],
)
def test_what_is_received_in_an_input_differs(
    called: str, settling: str, codes: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "p.f90").write_text(_TEXT.format(called=called, settling=settling))
    found = Project(tmp_path, settings=Settings(cache=False, jobs=1))
    assert [site.report.code for site in found.sites()] == codes
