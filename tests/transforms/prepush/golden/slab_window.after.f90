subroutine inner_planes(n, nb, np, comm, s, r)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: n, nb, np, comm
  real(8), intent(inout) :: s(n, nb*np), r(n, nb*np)
  integer :: k, ierr
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'

  s(:,1) = 0
  ! asphalt: MPI_Alltoall of site 'inner_planes' prepushed along k
  call asphalt_x%begin(comm, s, r, n*nb, MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, first=2, last=nb*np - 1, &
      k=asphalt_k_inner_planes, d=asphalt_d_inner_planes, grain=16, slab=.true., before=1, site='inner_planes')
  do while (asphalt_x%next_tile(s))
    do k = asphalt_x%lo, asphalt_x%hi
      s(:,k) = sqrt(dble(k))
    end do
  end do
  if (.not. asphalt_x%finished(s, r, ierr)) &
    call MPI_Alltoall(s, n*nb, MPI_DOUBLE_PRECISION, r, n*nb, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine inner_planes
