#include "binding.h"
! The buffer of a receive is written while it is pending.
program receive_written
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr
  integer :: sent(10), received(10)
  REQUEST :: request
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  sent = rank
  call MPI_Irecv(received, 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request, ierr)
  received = 0
  call MPI_Send(sent, 10, MPI_INTEGER, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Finalize(ierr)
end program receive_written
