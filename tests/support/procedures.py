"""Procedures that tests call from Python: every kind of argument, every binding."""

from __future__ import annotations

from pathlib import Path

SHAPES = """\
module shapes
  use mpi
  implicit none
  private
  public :: setup
  integer, parameter :: dp = kind(1.d0)
  integer, save :: planes = 2, calls = 0
contains

  subroutine setup(n)
    integer, intent(in) :: n
    planes = n
  end subroutine setup

  subroutine assumed_shape(comm, s, r, flag, total, scale)
    integer, intent(in) :: comm
    real(dp), intent(inout) :: s(0:,:,:), r(0:,:,:)
    logical, intent(inout), optional :: flag
    integer(8), intent(out) :: total
    complex(dp), intent(in) :: scale
    integer :: i, z, p, n, nz, np, ierr
    n = size(s, 1); nz = size(s, 2); np = size(s, 3)
    do z = 1, nz
      do p = 1, np
        do i = 0, n - 1
          s(i,z,p) = 2*s(i,z,p) + i*z*p + real(scale)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
    if (present(flag)) flag = .not. flag
    calls = calls + 1
    total = 2_8**40 + 10*lbound(r, 1) + calls
  end subroutine assumed_shape

  subroutine explicit_shape(n, np, comm, s, r, mask, status)
    integer, parameter :: wide = selected_int_kind(18)
    integer, intent(in) :: n, np, comm
    complex(dp), intent(in) :: s(n,planes,0:np-1)
    complex(dp), intent(out) :: r(n,planes,0:np-1)
    logical, intent(inout) :: mask(n)
    integer(wide), intent(out) :: status(MPI_STATUS_SIZE)
    integer :: ierr
    call MPI_Alltoall(s, n*planes, MPI_DOUBLE_COMPLEX, r, n*planes, MPI_DOUBLE_COMPLEX, comm, ierr)
    mask = .not. mask
    status = huge(status)
  end subroutine explicit_shape

  pure function doubled(n, x) result(v)
    integer, intent(in) :: n
    real(dp), intent(in) :: x(n)
    real(dp) :: v(2*n)
    v(:n) = x
    v(n+1:) = -x
  end function doubled

  subroutine letters(name, words, k)
    character(*), intent(inout) :: name
    integer, intent(in) :: k
    character(len=k), intent(inout) :: words(3)
    name = 'x'//name
    words = words(3:1:-1)
  end subroutine letters

  subroutine of_a_type(x)
    type point
      real :: x
    end type point
    type(point) :: x
    x%x = 0
  end subroutine of_a_type

  subroutine growing(x)
    real, allocatable :: x(:)
    allocate(x(3))
  end subroutine growing

end module shapes

module modern
  use mpi_f08
  implicit none
contains
  subroutine typed(comm, n, s, r)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: n
    integer, intent(inout) :: s(n,4,*)
    integer, intent(inout) :: r(n,4,*)
    integer :: i, z, p, np
    call MPI_Comm_size(comm, np)
    do z = 1, 4
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i + 10*z + 100*p
        end do
      end do
    end do
    call MPI_Alltoall(s, 4*n, MPI_INTEGER, r, 4*n, MPI_INTEGER, comm)
  end subroutine typed
end module modern

real function total(n, x)
  implicit none
  integer, intent(in) :: n
  real, intent(in) :: x(n)
  total = sum(x)
end function total

program uses
  use modern
  implicit none
  call inside()
contains
  subroutine inside()
  end subroutine inside
end program uses
"""

FIXED = """\
C     PLANES TO ALL RANKS, BUFFERS IN COMMON
      SUBROUTINE PLANES(NP, ME, X, IERR)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      INCLUDE 'mpif.h'
      PARAMETER (N = 3, NZ = 7, MAXP = 4)
      COMMON /BUFFER/ S(N,NZ,MAXP), R(N,NZ,MAXP)
      DIMENSION X(N,NZ)
      DO 10 IZ = 1, NZ
      DO 10 IP = 1, NP
      DO 10 I = 1, N
   10 S(I,IZ,IP) = X(I,IZ)*IP + ME
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      X(1,1) = R(1,1,1)
      END

      PROGRAM MAIN
      INCLUDE 'mpif.h'
      DOUBLE PRECISION X(3,7)
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      X = ME
      CALL PLANES(NP, ME, X, IERR)
      CALL MPI_FINALIZE(IERR)
      END
"""


def write(folder: Path) -> Path:
    """The sources in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shapes.f90").write_text(SHAPES)
    (folder / "planes.f").write_text(FIXED)
    return folder
