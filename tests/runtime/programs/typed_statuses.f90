! Statuses of `mpi_f08` that a wait gives, and the first message of a queue: from a neighbour in the
! ring, shorter than it could be; from nobody; the error code stays as it is.
program typed_statuses
  use mpi_f08
  use asphalt_core, only: asphalt_irecv, asphalt_isend
  use asphalt_queues, only: asphalt_post, asphalt_queue
  use asphalt_queues_f08, only: asphalt_take_f08
  use asphalt_transfers, only: asphalt_isendrecv_replace, asphalt_wait
  use asphalt_transfers_f08, only: asphalt_wait_f08
  implicit none
  integer, parameter :: n = 50
  integer :: me, np, left, right, wrong, total, request, other
  type(MPI_Status) :: status
  type(asphalt_queue) :: queue
  real(8) :: a(n), b(n), c(n)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, np)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  wrong = 0
  a = me
  status%MPI_ERROR = 77

  b = -1
  call asphalt_irecv(b, n, MPI_REAL8%MPI_VAL, left, 3, MPI_COMM_WORLD%MPI_VAL, request)
  call asphalt_isend(a, n - 1, MPI_REAL8%MPI_VAL, right, 3, MPI_COMM_WORLD%MPI_VAL, other)
  call asphalt_wait_f08(request, b, status)
  call check('a wait', left, 3, n - 1)
  call expect(all(nint(b(:n-1)) == left) .and. nint(b(n)) == -1, 'what a wait brings')
  call expect(request == MPI_REQUEST_NULL%MPI_VAL, 'the request is complete')
  call asphalt_wait(other, a)

  call asphalt_irecv(b, n, MPI_REAL8%MPI_VAL, MPI_PROC_NULL, 3, MPI_COMM_WORLD%MPI_VAL, request)
  call asphalt_wait_f08(request, b, status)
  call check('a wait for nobody', MPI_PROC_NULL, MPI_ANY_TAG, 0)

  ! what leaves is replaced
  c = 10 + me
  call asphalt_isendrecv_replace(c, n, MPI_REAL8%MPI_VAL, right, 4, left, 4, &
                                 MPI_COMM_WORLD%MPI_VAL, request)
  call asphalt_wait_f08(request, c, status)
  call check('a wait for what replaces', left, 4, n)
  call expect(all(nint(c) == 10 + left), 'what replaces')

  ! the first one that is posted is the first one to be taken; one has no room, and no copy
  b = -1
  c = -2
  call asphalt_post(queue, n, MPI_REAL8%MPI_VAL, left, 5, MPI_COMM_WORLD%MPI_VAL)
  call asphalt_post(queue, n, MPI_REAL8%MPI_VAL, MPI_PROC_NULL, 5, MPI_COMM_WORLD%MPI_VAL)
  call asphalt_post(queue, n, MPI_REAL8%MPI_VAL, left, 6, MPI_COMM_WORLD%MPI_VAL, mebibytes=0)
  call asphalt_isend(a, n - 2, MPI_REAL8%MPI_VAL, right, 5, MPI_COMM_WORLD%MPI_VAL, request)
  call asphalt_isend(a, n, MPI_REAL8%MPI_VAL, right, 6, MPI_COMM_WORLD%MPI_VAL, other)
  call asphalt_take_f08(queue, b, status)
  call check('the first message', left, 5, n - 2)
  call expect(all(nint(b(:n-2)) == left) .and. all(nint(b(n-1:)) == -1), 'what the first brings')
  call asphalt_take_f08(queue, c, status)
  call check('a message from nobody', MPI_PROC_NULL, MPI_ANY_TAG, 0)
  call expect(all(nint(c) == -2), 'nothing comes from nobody')
  call asphalt_take_f08(queue, c, status)
  call check('a message without a copy', left, 6, n)
  call expect(all(nint(c) == left), 'what comes without a copy')
  call asphalt_wait(request, a)
  call asphalt_wait(other, a)

  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize()

contains

  !> The status says so.
  subroutine check(what, source, tag, count)
    character(*), intent(in) :: what
    integer, intent(in) :: source, tag, count
    integer :: arrived

    call MPI_Get_count(status, MPI_REAL8, arrived)
    call expect(status%MPI_SOURCE == source .and. status%MPI_TAG == tag, what//': whose it is')
    call expect(arrived == count, what//': how much it is')
    call expect(status%MPI_ERROR == 77, what//': the error code')
  end subroutine check

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a)', 'FAIL ', what
  end subroutine expect
end program typed_statuses
