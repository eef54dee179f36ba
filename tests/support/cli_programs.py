"""Small MPI programs that the tests of the command line work on."""

from pathlib import Path

TRANSPOSES = """\
module transposes
  implicit none
contains

  subroutine transpose(n, nz, np, me, comm, s, r)
    use mpi
    implicit none
    integer, intent(in) :: n, nz, np, me, comm
    real(8), intent(out) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr

    ! one plane after the other
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = sin(dble(i*z)) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  end subroutine transpose

end module transposes
"""
TRANSPOSES_LINE = 20

MAIN = """\
program main
  use mpi
  use transposes, only: transpose
  implicit none
  integer, parameter :: n = 3, nz = 10
  integer :: me, np, ierr, p
  real(8), allocatable :: s(:,:,:), r(:,:,:), totals(:)
  real(8) :: total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n, nz, np), r(n, nz, np), totals(np))
  call transpose(n, nz, np, me, MPI_COMM_WORLD, s, r)
  total = 0
  do p = 1, np
    total = total + p*sum(r(:,:,p))
  end do
  call MPI_Gather(total, 1, MPI_DOUBLE_PRECISION, totals, 1, MPI_DOUBLE_PRECISION, 0, &
                  MPI_COMM_WORLD, ierr)
  if (me == 0) print '(es24.16)', totals
  call MPI_Finalize(ierr)
end program main
"""

REFUSED = """\
subroutine exchange(n, s, r, counts, displs, types, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, counts(*), displs(*), types(*), comm
  real(8), intent(inout) :: s(n), r(n)
  integer :: i, ierr

  do i = 1, n
    s(i) = i
  end do
  call MPI_Alltoallw(s, counts, displs, types, r, counts, displs, types, &
                     comm, ierr)
end subroutine exchange
"""
REFUSED_LINE = 11


def write_tree(folder: Path, **extra: str) -> Path:
    """A tree with one site that is proved, one that is refused, and files that are not Fortran."""
    files = {
        "transposes.f90": TRANSPOSES,
        "main.f90": MAIN,
        "sub/refused.f90": REFUSED,
        "run.sh": "#!/bin/sh\nexit 0\n",
        **extra,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    (folder / "run.sh").chmod(0o755)
    return folder
