#include "binding.h"
! What a non-blocking exchange sends is changed, and what it receives is written, while it runs.
program collective_pending
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, ierr
  integer, allocatable :: sent(:), received(:)
  REQUEST :: request
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(sent(ranks), received(ranks))
  sent = rank
  call MPI_Ialltoall(sent, 1, MPI_INTEGER, received, 1, MPI_INTEGER, MPI_COMM_WORLD, request, ierr)
  sent(1) = -1
  received(ranks) = -1
  call MPI_Wait(request, status, ierr)
  call MPI_Finalize(ierr)
end program collective_pending
