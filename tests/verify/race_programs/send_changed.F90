#include "binding.h"
! The buffer of a send is changed before its wait.
program send_changed
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr
  real(8) :: sent(1000), received(1000)
  REQUEST :: request
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  sent = rank
  call MPI_Isend(sent, 1000, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, request, ierr)
  sent(501) = -1
  call MPI_Recv(received, 1000, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, status, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Finalize(ierr)
end program send_changed
