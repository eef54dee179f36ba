subroutine planes(n, nz, np, comm, s, r, last)
   use mpi, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION
   use asphalt_exchange, only: asphalt_exchange_t
   implicit none
   integer, intent(in) :: n, nz, np, comm
   real(8), intent(inout) :: s(n, nz), r(n, nz)
   integer, intent(out) :: last
   integer :: k, ierr
   type(asphalt_exchange_t) :: asphalt_x
   include 'asphalt_params.inc'
   ! asphalt: MPI_Alltoall of site 'planes' prepushed along k
   call asphalt_x%begin(comm, s, r, n*(nz/np), MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, &
                        last=nz, k=asphalt_k_planes, d=asphalt_d_planes, grain=16, slab=.true., &
                        site='planes')
   do while (asphalt_x%next_tile(s))
      do k = asphalt_x%lo, asphalt_x%hi
         s(:,k) = sqrt(dble(k))
      enddo
   end do
   k = asphalt_x%lo
   if (.not. asphalt_x%finished(s, r, ierr)) &
      call MPI_Alltoall(s, n*(nz/np), MPI_DOUBLE_PRECISION, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
         comm, ierr)
   last = k
end subroutine planes
