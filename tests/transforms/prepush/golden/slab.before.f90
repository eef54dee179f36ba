subroutine planes(n, nz, np, comm, s, r, last)
   use mpi, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION
   implicit none
   integer, intent(in) :: n, nz, np, comm
   real(8), intent(inout) :: s(n, nz), r(n, nz)
   integer, intent(out) :: last
   integer :: k, ierr
   do k = 1, nz
      s(:,k) = sqrt(dble(k))
   enddo
   call MPI_Alltoall(s, n*(nz/np), MPI_DOUBLE_PRECISION, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
      comm, ierr)
   last = k
end subroutine planes
