#include "binding.h"
! The buffer of a receive is read before its wait: the sum is of what was there before, or is not.
program receive_read
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr
  real(8) :: sent(10), received(10), total
  REQUEST :: requests(2)
  STATUSES(statuses, 2)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  sent = 1
  received = 1
  call MPI_Irecv(received, 10, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(sent, 10, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(2), ierr)
  total = sum(received)
  call MPI_Waitall(2, requests, statuses, ierr)
  if (rank == 0) print '(a, f6.1)', 'total', total
  call MPI_Finalize(ierr)
end program receive_read
