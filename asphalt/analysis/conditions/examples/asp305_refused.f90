module planes
  implicit none
  private
  public :: fill
  integer, parameter :: lead = 0
contains
  subroutine fill(s, n, nz, z, np)
    integer, intent(in) :: n, nz, z, np
    real(8), intent(inout) :: s(n,nz,np)
    integer :: i, p
    do p = 1, np
      do i = 1, n
        s(i,lead+z,p) = i*z + p
      end do
    end do
  end subroutine fill
end module planes

subroutine transpose(n, nz, np, comm, s, r)
  use mpi
  use planes
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
  integer :: z, ierr
  do z = 1, nz
    call fill(s, n, nz, z, np)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine transpose
