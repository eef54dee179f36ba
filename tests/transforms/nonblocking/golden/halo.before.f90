subroutine smooth(u, v, n, below, above, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, below, above, comm
  real(8), intent(inout) :: u(n, 0:n+1), v(n, n)
  integer :: i, j, ierr

  call MPI_Sendrecv(u(1,n), n, MPI_DOUBLE_PRECISION, above, 1, &
                    u(1,0), n, MPI_DOUBLE_PRECISION, below, 1, comm, MPI_STATUS_IGNORE, ierr)
  call MPI_Sendrecv(u(1,1), n, MPI_DOUBLE_PRECISION, below, 2, &
                    u(1,n+1), n, MPI_DOUBLE_PRECISION, above, 2, comm, MPI_STATUS_IGNORE, ierr)
  do j = 1, n
    do i = 1, n
      v(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i,j-1) + u(i,j+1))
    end do
  end do
end subroutine smooth
