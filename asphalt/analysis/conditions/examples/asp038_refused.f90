program exchange
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 4
  integer :: me, np, ierr, status(MPI_STATUS_SIZE)
  real(8) :: a(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Bcast(a, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, status, ierr)   ! it has no status
  print *, sum(a)
  call MPI_Finalize(ierr)
end program exchange
