#include "binding.h"
! A receive with any tag takes the message that a receive of that tag waits for.
program overtaking_tag
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  integer :: sent(4), header(4), body(4)
  REQUEST :: requests(2)
  STATUSES(statuses, 2)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  sent = rank
  if (rank == 0) then
    call MPI_Irecv(header, 4, MPI_INTEGER, 1, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(body, 4, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
  else if (rank == 1) then
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program overtaking_tag
