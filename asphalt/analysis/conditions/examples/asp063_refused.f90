subroutine step(u, after, n, m, below, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, below, comm
  real(8), intent(inout) :: u(0:n+1,0:m+1), after(n,m)
  integer :: i, j, ierr
  real(8) :: west(m)
  call MPI_Recv(u(1,0), n, MPI_DOUBLE_PRECISION, below, 1, comm, MPI_STATUS_IGNORE, ierr)
  call MPI_Recv(west, m, MPI_DOUBLE_PRECISION, below, 2, comm, MPI_STATUS_IGNORE, ierr)
  do j = 1, m
    u(0,j) = west(j)
  end do
  do j = 1, m
    do i = 1, n
      after(i,j) = sin(u(i-1,j)) + u(i,j-1)
    end do
  end do
end subroutine step
