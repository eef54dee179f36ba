subroutine in_place(nx, ny, nz, np, comm, x, s)
  use mpi
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  complex(8), intent(inout) :: x(nx*np, ny, nz), s(nx, ny, nz, np)
  integer :: z, p, ierr

  do z = 1, nz
    do p = 1, np
      s(:,:,z,p) = 2*x((p-1)*nx+1:p*nx,:,z)
    end do
  end do
  ! back to where the planes were
  call MPI_Alltoall(s, nx*ny*nz, MPI_DOUBLE_COMPLEX, x, nx*ny*nz, MPI_DOUBLE_COMPLEX, comm, ierr)
end subroutine in_place
