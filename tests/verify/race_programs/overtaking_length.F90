#include "binding.h"
! Two messages with one tag are received in another order than they were sent.
program overtaking_length
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  integer :: sent(8), long(8), short(4)
  REQUEST :: requests(2)
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  sent = rank
  if (rank == 0) then
    call MPI_Irecv(long, 8, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(short, 4, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Wait(requests(1), status, ierr)
    call MPI_Send(sent, 1, MPI_INTEGER, 1, 6, MPI_COMM_WORLD, ierr)
    call MPI_Wait(requests(2), status, ierr)
  else if (rank == 1) then
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
    call MPI_Recv(sent, 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, status, ierr)
    call MPI_Send(sent, 8, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program overtaking_length
