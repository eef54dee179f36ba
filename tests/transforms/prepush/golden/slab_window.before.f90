subroutine inner_planes(n, nb, np, comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nb, np, comm
  real(8), intent(inout) :: s(n, nb*np), r(n, nb*np)
  integer :: k, ierr

  s(:,1) = 0
  do k = 2, nb*np - 1
    s(:,k) = sqrt(dble(k))
  end do
  call MPI_Alltoall(s, n*nb, MPI_DOUBLE_PRECISION, r, n*nb, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine inner_planes
