#include "binding.h"
! The ranks do not agree who broadcasts.
program collective_roots
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr, value

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  value = rank
  call MPI_Bcast(value, 1, MPI_INTEGER, min(rank, 1), MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
end program collective_roots
