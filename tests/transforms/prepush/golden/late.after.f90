subroutine late(n, nz, np, comm, s, r)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(inout) :: s(n, nz, np), r(n, nz, np)
  integer :: p, z, ierr
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'

  s(:,1:2,:) = 0
  ! plane z-1 is finished by iteration z
  ! asphalt: MPI_Alltoall of site 'late' prepushed along z
  call asphalt_x%begin(comm, s, r, n*nz, MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, &
                       first=3, last=nz, k=asphalt_k_late, d=asphalt_d_late, ready=1, site='late')
  do while (asphalt_x%next_tile(s))
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do p = 1, np
        s(:,z,p) = dble(z + p)
        s(:,z-1,p) = s(:,z-1,p) + s(:,z,p)
      end do
    end do
  end do
  if (.not. asphalt_x%finished(s, r, ierr)) &
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine late
