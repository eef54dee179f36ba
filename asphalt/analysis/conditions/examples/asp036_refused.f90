program exchange
  use mpi
  implicit none
  integer, parameter :: n = 4
  integer :: me, np, ierr
  integer :: a(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Bcast(a, n, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)   ! 32 bytes
  print *, sum(a)
  call MPI_Finalize(ierr)
end program exchange
