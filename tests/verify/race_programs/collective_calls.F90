#include "binding.h"
! One rank broadcasts first and reduces then, the others do it the other way round.
program collective_calls
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr, value, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  value = rank
  if (rank == 0) then
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program collective_calls
