! Receives that blocked: the first one takes any tag, and gets what was sent first.
program receives_in_order
  use mpi
  use asphalt_core, only: asphalt_irecv
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer :: rank, ierr, first(4), second(4), requests(2)
  integer :: status(MPI_STATUS_SIZE)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  if (rank == 0) then
    call asphalt_irecv(first, 4, MPI_INTEGER, 1, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1))
    call asphalt_irecv(second, 4, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, requests(2))
    call asphalt_wait(requests(1), first, status)
    call asphalt_wait(requests(2), second)
    print '(3(i0, 1x))', first(1), second(1), status(MPI_TAG)
  else if (rank == 1) then
    first = 1
    second = 2
    call MPI_Send(first, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
    call MPI_Send(second, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Finalize(ierr)
end program receives_in_order
