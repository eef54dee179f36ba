module communication
  use mpi
  implicit none
  integer, parameter :: world = MPI_COMM_WORLD
end module communication
