program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: request, other, me, np, ierr
  real(8) :: a(n), b(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, MPI_COMM_WORLD, &
                 request, ierr)
  call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, MPI_COMM_WORLD, &
                MPI_STATUS_IGNORE, ierr)
  call MPI_Request_free(request, ierr)
  call MPI_Wait(other, MPI_STATUS_IGNORE, ierr)   ! of no operation
  print *, sum(b)
  call MPI_Finalize(ierr)
end program exchange
