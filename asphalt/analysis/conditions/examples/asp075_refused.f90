!> Line by line, from one rank to the next.
program lines
  use mpi
  implicit none
  integer, parameter :: n = 100
  real :: mine(n), theirs(n)
  integer :: me, np, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  mine = me
  theirs = 0
  if (me == 0) print *, np, 'ranks'
  call MPI_Sendrecv(mine, n, MPI_REAL, modulo(me + 1, np), 1, &
                    theirs, n, MPI_REAL, modulo(me - 1, np), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  print *, sum(theirs)
  call MPI_Finalize(ierr)
end program lines
