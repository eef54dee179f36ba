#include "binding.h"
! Two communicators, on which the ranks enter a collective call in different order.
program collective_circle
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr, value, total
  COMMUNICATOR :: one, other

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, one, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, other, ierr)
  value = rank
  if (rank == 0) then
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, one, ierr)
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, other, ierr)
  else
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, other, ierr)
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, one, ierr)
  end if
  call MPI_Finalize(ierr)
end program collective_circle
