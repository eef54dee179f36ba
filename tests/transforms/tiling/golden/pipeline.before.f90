subroutine sweep(u, me, np, comm)
  use mpi
  implicit none
  integer, parameter :: n = 64, m = 2000
  integer, intent(in) :: me, np, comm
  real(8), intent(inout) :: u(0:m, 0:n)
  real(8) :: west(n), east(n)
  integer :: i, j, ierr

  ! each rank needs what the one before it has computed
  if (me > 0) then
    call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, me - 1, 1, comm, MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      u(0,j) = west(j)
    end do
  end if
  do j = 1, n
    do i = 1, m
      u(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i-1,j) + u(i,j-1))
    end do
  end do
  if (me < np - 1) then
    do j = 1, n
      east(j) = u(m,j)
    end do
    call MPI_Send(east, n, MPI_DOUBLE_PRECISION, me + 1, 1, comm, ierr)
  end if
end subroutine sweep


program waves
  use mpi
  implicit none
  integer, parameter :: n = 64, m = 2000
  real(8) :: u(0:m, 0:n)
  integer :: me, np, step, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  u = me
  do step = 1, 10
    call sweep(u, me, np, MPI_COMM_WORLD)
  end do
  print *, me, sum(u)
  call MPI_Finalize(ierr)
end program waves
