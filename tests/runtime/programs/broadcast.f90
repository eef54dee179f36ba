!> Broadcasts that do not block, on all ranks and on communicators of one rank each.
program broadcast
  use mpi
  use asphalt_collectives, only: asphalt_ibcast
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, parameter :: n = 20000
  integer :: me, ierr, request, alone
  real(8) :: s(n), t(n)
  logical :: right, all_right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, me, 0, alone, ierr)

  s = me + 5
  call asphalt_ibcast(s, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, request)
  t = me
  call asphalt_wait(request, s)
  right = all(s == 5) .and. request == MPI_REQUEST_NULL

  s = me + 7
  call asphalt_ibcast(s, n, MPI_DOUBLE_PRECISION, 0, alone, request)
  t = me
  call asphalt_wait(request, s)
  right = right .and. all(s == me + 7) .and. request == MPI_REQUEST_NULL

  call asphalt_ibcast(s, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_SELF, request)
  call asphalt_wait(request, s)
  right = right .and. all(s == me + 7) .and. all(t == me)

  call MPI_Comm_free(alone, ierr)
  call MPI_Reduce(right, all_right, 1, MPI_LOGICAL, MPI_LAND, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a)', merge('PASS', 'FAIL', all_right)
  call MPI_Finalize(ierr)
end program broadcast
