program exchange
  use mpi
  implicit none
  integer, parameter :: n = 4
  integer :: me, np, ierr
  real(8) :: a(n,8)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Allgather(a, n, MPI_DOUBLE_PRECISION, a, n, MPI_DOUBLE_PRECISION, &
                     MPI_COMM_WORLD, ierr)   ! it receives in what it sends
  print *, sum(a)
  call MPI_Finalize(ierr)
end program exchange
