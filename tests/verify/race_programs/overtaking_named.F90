#include "binding.h"
! A receive from anybody is posted before one from a certain rank, with the same tag.
program overtaking_named
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  integer :: sent(4), anybody(4), certain(4)
  REQUEST :: requests(2)
  STATUSES(statuses, 2)
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  sent = rank
  if (rank == 0) then
    call MPI_Irecv(anybody, 4, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(certain, 4, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Recv(sent, 4, MPI_INTEGER, 2, 8, MPI_COMM_WORLD, status, ierr)
    call MPI_Send(sent, 4, MPI_INTEGER, 1, 8, MPI_COMM_WORLD, ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
  else if (rank == 1) then
    call MPI_Recv(sent, 4, MPI_INTEGER, 0, 8, MPI_COMM_WORLD, status, ierr)
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierr)
  else if (rank == 2) then
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierr)
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 8, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program overtaking_named
