subroutine transpose(n, nz, np, me, comm, s, r)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: n, nz, np, me, comm
  real(8), intent(inout) :: s(n, nz, np), r(n, nz, np)
  integer :: i, z, p, ierr
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'

  ! one plane after the other
  ! asphalt: MPI_Alltoall of site 'transpose' prepushed along z
  call asphalt_x%begin(comm, s, r, n*nz, MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, &
                       last=nz, k=asphalt_k_transpose, d=asphalt_d_transpose, site='transpose')
  do while (asphalt_x%next_tile(s))
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me     ! irregular   spacing
        end do
      end do
    end do
  end do

  ! and all of them to their places
  if (.not. asphalt_x%finished(s, r, ierr)) &
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  if (ierr /= 0) stop 1
end subroutine transpose
