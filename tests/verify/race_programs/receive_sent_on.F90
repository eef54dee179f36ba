#include "binding.h"
! What stands in the buffer of a pending receive goes into a message, and into a reduction.
program receive_sent_on
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr
  real(8) :: received(10), later(10), mean, all
  REQUEST :: requests(2)
  STATUSES(statuses, 2)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  received = rank
  call MPI_Irecv(received, 10, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierr)
  mean = sum(received) / 10
  call MPI_Allreduce(mean, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  later = 1
  call MPI_Isend(later, 10, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, statuses, ierr)
  call MPI_Finalize(ierr)
end program receive_sent_on
