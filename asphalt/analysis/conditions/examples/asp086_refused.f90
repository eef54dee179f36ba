!> The first rank works on what each other one sends.
program gather
  use mpi
  implicit none
  integer, parameter :: n = 5000
  integer :: me, np, ierr, i, p, m
  real(8) :: b(n), x(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  b = me
  x = 0
  m = n
  if (me == 0) then
    do p = 1, np - 1
      call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, p, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
      m = nint(b(1))
    end do
  else
    call MPI_Send(b, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
  end if
  print *, me, sum(x)
  call MPI_Finalize(ierr)
end program gather
