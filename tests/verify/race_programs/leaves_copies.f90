! A send that leaves from a copy, for which MPI_Finalize waits.
program leaves_copies
  use mpi
  use asphalt_queues, only: asphalt_send
  implicit none
  integer, parameter :: n = 100000
  integer :: values(n), me, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  values = me
  if (me == 0) then
    call asphalt_send(values, n, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
    values = -1
  else if (me == 1) then
    call MPI_Recv(values, n, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    print '(i0)', sum(values)
  end if
  call MPI_Finalize(ierr)
end program leaves_copies
