subroutine in_place(nx, ny, nz, np, comm, x, s)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  complex(8), intent(inout) :: x(nx*np, ny, nz), s(nx, ny, nz, np)
  integer :: z, p, ierr
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'

  ! asphalt: MPI_Alltoall of site 'in_place' prepushed along z; received into a clone: x is read before the call
  call asphalt_x%begin(comm, s, x, nx*ny*nz, MPI_DOUBLE_COMPLEX, storage_size(s)/8, unit=nx*ny, &
                       last=nz, k=asphalt_k_in_place, d=asphalt_d_in_place, clone=.true., &
                       site='in_place')
  do while (asphalt_x%next_tile(s))
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do p = 1, np
        s(:,:,z,p) = 2*x((p-1)*nx+1:p*nx,:,z)
      end do
    end do
  end do
  ! back to where the planes were
  if (.not. asphalt_x%finished(s, x, ierr)) &
    call MPI_Alltoall(s, nx*ny*nz, MPI_DOUBLE_COMPLEX, x, nx*ny*nz, MPI_DOUBLE_COMPLEX, comm, ierr)
end subroutine in_place
