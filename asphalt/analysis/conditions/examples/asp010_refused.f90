program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: z, me, np, requests(2), ierr
  real(8) :: s(n), r(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do z = 1, n
    s(z) = z + me
  end do
  call MPI_Irecv(r, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 0, MPI_COMM_WORLD, &
                 requests(1), ierr)   ! to and from one rank each
  call MPI_Isend(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 0, MPI_COMM_WORLD, &
                 requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
