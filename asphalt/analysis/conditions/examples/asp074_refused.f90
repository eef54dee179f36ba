!> What a rank has of its neighbour's points: as many as the neighbour has.
program neighbours
  use mpi
  implicit none
  integer, parameter :: n = 100
  real :: mine(n), theirs(n)
  integer :: me, np, own, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  own = n - mod(me, 2)
  mine = me
  theirs = 0 ! the receive defines the first elements only
  call MPI_Sendrecv(mine, own, MPI_REAL, modulo(me + 1, np), 1, &
                    theirs, n, MPI_REAL, modulo(me - 1, np), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  print *, sum(theirs)
  call MPI_Finalize(ierr)
end program neighbours
