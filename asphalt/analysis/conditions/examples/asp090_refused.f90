!> Halos of a line of points, exchanged again because one rank has changed its points.
program neighbours
  use mpi
  implicit none
  integer, parameter :: n = 100
  real :: u(0:n+1), slope(n), bend(n)
  integer :: me, np, left, right, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  u = me
  call MPI_Sendrecv(u(n), 1, MPI_REAL, right, 1, u(0), 1, MPI_REAL, left, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  slope = u(1:n) - u(0:n-1)
  if (me == 0) u(n) = 1 ! what its neighbour has is old
  call MPI_Sendrecv(u(n), 1, MPI_REAL, right, 1, u(0), 1, MPI_REAL, left, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  bend = u(0:n-1)**2
  print *, sum(slope), sum(bend)
  call MPI_Finalize(ierr)
end program neighbours
