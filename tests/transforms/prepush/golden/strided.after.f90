subroutine transpose(n, nz, np, me, comm, s, r)
  use mpi
  use asphalt_strided, only: asphalt_strided_t
  implicit none
  integer, intent(in) :: n, nz, np, me, comm
  real(8), intent(inout) :: s(nz, n, np), r(nz, n, np)
  integer :: i, z, p, ierr
  type(asphalt_strided_t) :: asphalt_s
  include 'asphalt_params.inc'

  ! the planes lie across the blocks
  ! asphalt: MPI_Alltoall of site 'transpose' prepushed along z
  call asphalt_s%begin_strided(comm, s, r, n*nz, MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, &
                               last=nz, k=asphalt_k_transpose, d=asphalt_d_transpose, &
                               extents=[nz, n], along=1, site='transpose')
  do while (asphalt_s%next_tile(s))
    do z = asphalt_s%lo, asphalt_s%hi
      call asphalt_s%progress()
      do p = 1, np
        do i = 1, n
          s(z,i,p) = dble(i*z) + p*me     ! irregular   spacing
        end do
      end do
    end do
  end do

  ! and all of them to their places
  if (.not. asphalt_s%finished(s, r, ierr)) &
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  if (ierr /= 0) stop 1
end subroutine transpose
