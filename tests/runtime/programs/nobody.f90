! Messages from and to nobody (MPI_PROC_NULL): the status that a wait gives, which buffers stay as
! they are, and messages that replace what leaves while others are under way from the same buffers.
! One wait for several messages, of which one may fail.
program nobody
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_isend, is_smpi
  use asphalt_queues, only: asphalt_post, asphalt_queue, asphalt_take
  use asphalt_transfers, only: asphalt_isendrecv_replace, asphalt_wait, asphalt_wait_all
  implicit none
  integer, parameter :: n = 50
  integer :: me, np, error, wrong, request, other, status(MPI_STATUS_SIZE), spread
  type(asphalt_queue) :: queue
  integer :: first, several(3), left, right
  real(8) :: a(n), b(n), long(300000) = 1, late(300000) = 2

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  wrong = 0
  a = me
  status = 77
  call asphalt_irecv(a, n, MPI_REAL8, MPI_PROC_NULL, 3, MPI_COMM_WORLD, request)
  call asphalt_wait(request, a, status)
  call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
  status = 77
  call asphalt_post(queue, n, MPI_REAL8, MPI_PROC_NULL, 3, MPI_COMM_WORLD)
  call asphalt_take(queue, a, status)
  call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
  call expect(all(nint(a) == me))

  ! to a neighbour, from nobody; from a neighbour, to nobody: on the first and the last rank
  b = -1 - me
  call asphalt_isendrecv_replace(a, n, MPI_REAL8, above(me), 4, below(me), 4, MPI_COMM_WORLD, &
                                 request)
  call asphalt_isendrecv_replace(b, n - me, MPI_REAL8, below(me), 5, above(me), 5, &
                                 MPI_COMM_WORLD, other)
  call asphalt_wait(other, b, status)
  if (me == np - 1) then
    call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
  else
    call check(status, me + 1, 5, n - me - 1)
    call expect(all(nint(b(:n-me-1)) == -2 - me) .and. all(nint(b(n-me:)) == -1 - me))
  end if
  call asphalt_wait(request, a, status)
  if (me == 0) then
    call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
  else
    call check(status, me - 1, 4, n)
  end if
  call expect(all(nint(a) == max(me - 1, 0)))

  ! two to a neighbour, from nobody: each wait is for its own, whatever else is on its way
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (me == 0 .and. np > 1) then
    call asphalt_isendrecv_replace(long, size(long), MPI_REAL8, 1, 7, MPI_PROC_NULL, 7, &
                                   MPI_COMM_WORLD, request)
    call asphalt_isendrecv_replace(late, size(late), MPI_REAL8, 1, 8, MPI_PROC_NULL, 8, &
                                   MPI_COMM_WORLD, other)
    call asphalt_wait(request, long, status)
    call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
    call MPI_Ssend(me, 1, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, error)
    call asphalt_wait(other, late, status)
    call check(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
  else if (me == 1) then
    call MPI_Recv(long, size(long), MPI_REAL8, 0, 7, MPI_COMM_WORLD, status, error)
    call MPI_Recv(first, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, status, error)
    call MPI_Recv(late, size(late), MPI_REAL8, 0, 8, MPI_COMM_WORLD, status, error)
  end if

  ! elements with gaps, around the ring: those between stay
  a = me
  call MPI_Type_vector(n/2, 1, 2, MPI_REAL8, spread, error)
  call MPI_Type_commit(spread, error)
  call asphalt_isendrecv_replace(a, 1, spread, modulo(me + 1, np), 6, modulo(me - 1, np), 6, &
                                 MPI_COMM_WORLD, request)
  call asphalt_wait(request, a)
  call expect(all(nint(a(1::2)) == modulo(me - 1, np)) .and. all(nint(a(2::2)) == me))
  call MPI_Type_free(spread, error)

  ! one wait for three: one replaces what leaves, and one comes from nobody
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = me
  b = -1
  long = 3
  call asphalt_irecv(late, n, MPI_REAL8, below(me), 10, MPI_COMM_WORLD, several(1))
  call asphalt_isendrecv_replace(a, n, MPI_REAL8, right, 11, left, 11, MPI_COMM_WORLD, several(2))
  call asphalt_isend(long, n, MPI_REAL8, above(me), 10, MPI_COMM_WORLD, several(3))
  call asphalt_wait_all(3, several, late, a, long)
  call expect(all(several == MPI_REQUEST_NULL))
  call expect(all(nint(a) == left) .and. nint(late(1)) == merge(2, 3, me == 0))

  ! one of two is too long: the other is there
  if (.not. is_smpi()) then
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    b = -1
    call asphalt_irecv(late, 1, MPI_REAL8, left, 12, MPI_COMM_WORLD, several(1))
    call asphalt_irecv(b, n, MPI_REAL8, left, 13, MPI_COMM_WORLD, several(2))
    call asphalt_isend(a, n, MPI_REAL8, right, 12, MPI_COMM_WORLD, several(3))
    call asphalt_wait(several(3), a)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call asphalt_isend(a, n, MPI_REAL8, right, 13, MPI_COMM_WORLD, several(3))
    call asphalt_wait_all(2, several, late, b)
    call expect(all(nint(b) == modulo(me - 2, np)))
    call asphalt_wait(several(3), a)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
  end if

  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', wrong == 0))
  call MPI_Finalize(error)

contains

  integer function below(rank)
    integer, intent(in) :: rank

    below = rank - 1
    if (rank == 0) below = MPI_PROC_NULL
  end function below

  integer function above(rank)
    integer, intent(in) :: rank

    above = rank + 1
    if (rank == np - 1) above = MPI_PROC_NULL
  end function above

  !> A status says so.
  subroutine check(status, source, tag, count)
    integer, intent(in) :: status(MPI_STATUS_SIZE), source, tag, count
    integer :: arrived

    call MPI_Get_count(status, MPI_REAL8, arrived, error)
    call expect(status(MPI_SOURCE) == source .and. status(MPI_TAG) == tag .and. arrived == count)
    call expect(status(MPI_ERROR) == 77)  ! nothing changes it
  end subroutine check

  subroutine expect(holds)
    logical, intent(in) :: holds

    if (.not. holds) wrong = wrong + 1
  end subroutine expect
end program nobody
