program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: me, np, request, ierr
  logical :: done
  real(8) :: s(n), r(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  s = me
  call MPI_Irecv(r, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 0, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 0, MPI_COMM_WORLD, ierr)
  call MPI_Test(request, done, MPI_STATUS_IGNORE, ierr)   ! done says whether it is complete
  if (done) print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
