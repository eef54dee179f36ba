module grid
  implicit none
  integer, parameter :: n = 12, m = 400
end module grid

subroutine sweep(u, left, right, comm)
  use mpi
  use grid
  implicit none
  real(8), intent(inout) :: u(0:m, 0:n)
  integer, intent(in) :: left, right, comm
  real(8) :: west(n), east(n)
  integer :: i, j, ierr
  if (left /= MPI_PROC_NULL) then
    call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      u(0,j) = west(j)
    end do
  end if
  do j = 1, n
    do i = 1, m
      u(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i-1,j) + u(i,j-1))
    end do
  end do
  if (right /= MPI_PROC_NULL) then
    do j = 1, n
      east(j) = u(m,j)
    end do
    call MPI_Send(east, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)
  end if
  print *, u(0,n)
end subroutine sweep

program main
  use mpi
  use grid
  implicit none
  real(8) :: u(0:m, 0:n)
  integer :: me, np, left, right, step, i, j, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
  do j = 0, n
    do i = 0, m
      u(i,j) = modulo(7*i + 3*j + me, 11)
    end do
  end do
  do step = 1, 60
    call sweep(u, left, right, MPI_COMM_WORLD)
  end do
  print *, me, u(m,n), sum(u)
  call MPI_Finalize(ierr)
end program main
