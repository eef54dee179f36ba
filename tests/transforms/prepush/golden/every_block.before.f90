subroutine transpose(n, nz, np, me, comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np, me, comm
  real(8), intent(inout) :: s(n, nz, np), r(n, nz, np)
  integer :: i, z, p, ierr

  ! one plane after the other
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,z,p) = dble(i*z) + p*me     ! irregular   spacing
      end do
    end do
  end do

  ! and all of them to their places
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  if (ierr /= 0) stop 1
end subroutine transpose
