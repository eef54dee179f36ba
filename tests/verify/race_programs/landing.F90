#include "binding.h"
! Blocking calls receive into buffers of pending communication, some of them what is there already.
program landing
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr
  integer :: sent(10), sums(10), received(30), ones(10)
  REQUEST :: requests(3)
  STATUS(status)
  STATUSES(statuses, 3)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  ones = 1
  sent = 1
  sums = ranks
  call MPI_Isend(sent, 10, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(sums, 10, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Irecv(received(5), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Allreduce(ones, sums, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Sendrecv(ones, 10, MPI_INTEGER, right, 3, sent, 10, MPI_INTEGER, left, 3, &
                    MPI_COMM_WORLD, status, ierr)
  call MPI_Recv(received(14), 10, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status, ierr)
  call MPI_Waitall(3, requests, statuses, ierr)
  call MPI_Finalize(ierr)
end program landing
