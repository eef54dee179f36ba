#include "binding.h"
! Two receives take a message from anybody; which message is in which buffer is not known.
program overtaking_source
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  integer :: sent(4), first(4), second(4)
  REQUEST :: requests(2)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  sent = rank
  if (rank == 0) then
    call MPI_Irecv(first, 4, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(second, 4, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  else if (rank <= 2) then
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program overtaking_source
