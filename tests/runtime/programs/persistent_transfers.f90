! Messages that are sent again and again, and kept from one to the next, if all is as it was.  With
! the argument `threads`: MPI_THREAD_MULTIPLE, where nothing is kept.
module messages
  use mpi
  use asphalt_core, only: is_smpi
  use asphalt_persistent, only: is_open_mpi, may_keep
  use asphalt_persistent_transfers, only: asphalt_persistent_irecv, asphalt_persistent_isend, &
                                          kept_transfers
  use asphalt_transfers, only: asphalt_wait, asphalt_wait_all
  implicit none
  integer, parameter :: most = 600
  integer :: me, np, next, before, ierr, wrong = 0, round = 0
  !> Whether this MPI lets anything be kept, and gains by it.
  logical :: keeps
  integer, save :: s(most, 2), r(most, 2)
contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a,3i6)', 'FAIL ', what, me, round, kept_transfers
  end subroutine expect

  !> What a rank sends as element `i` of one of its buffers.
  elemental integer function value(from, i, buffer)
    integer, intent(in) :: from, i, buffer
    value = 1000000*buffer + 10000*round + 1000*from + i
  end function value

  !> Both buffers, of which `n` elements travel around the ring.
  subroutine turn(comm, n)
    integer, intent(in) :: comm, n
    integer :: requests(4), i, b, error
    round = round + 1
    r = -1
    error = MPI_SUCCESS
    do b = 1, 2
      call asphalt_persistent_irecv(r(1,b), n, MPI_INTEGER, before, b, comm, requests(b), error)
    end do
    do b = 1, 2
      s(:,b) = [(value(me, i, b), i=1,most)]
      call asphalt_persistent_isend(s(1,b), n, MPI_INTEGER, next, b, comm, requests(b+2), error)
    end do
    call asphalt_wait_all(4, requests, r, s)
    call expect(all(requests == MPI_REQUEST_NULL), 'the requests are null')
    call expect(error == MPI_SUCCESS, 'without an error')
    do b = 1, 2
      call expect(all(r(:n,b) == value(before, [(i, i=1,n)], b)), 'what came')
      call expect(all(r(n+1:,b) == -1), 'no more came')
    end do
  end subroutine turn

  !> Requests are made once.
  subroutine again()
    integer :: times, kept
    do times = 1, 3
      call turn(MPI_COMM_WORLD, 100)
      if (times == 1) kept = kept_transfers
      call expect(kept_transfers == kept, 'they are those of before')
    end do
    call expect(kept_transfers == merge(4, 0, keeps), 'four are kept')
  end subroutine again

  !> Short sends are started anew; lengths change, also more often than they stay.
  subroutine other_lengths()
    integer :: times
    do times = 1, 40
      call turn(MPI_COMM_WORLD, merge(3, 90 + times, mod(times, 3) == 0))
    end do
    call expect(kept_transfers <= 4, 'one for each place and rank')
    call turn(MPI_COMM_WORLD, 100)
  end subroutine other_lengths

  !> What is in progress is not started again; messages with the same arguments keep their order.
  subroutine in_progress()
    integer :: first(2), second(2), i
    round = round + 1
    s(:,1) = [(value(me, i, 1), i=1,most)]
    call asphalt_persistent_irecv(r(1,1), 100, MPI_INTEGER, before, 1, MPI_COMM_WORLD, first(1))
    call asphalt_persistent_irecv(r(1,2), 100, MPI_INTEGER, before, 1, MPI_COMM_WORLD, second(1))
    call asphalt_persistent_isend(s(1,1), 100, MPI_INTEGER, next, 1, MPI_COMM_WORLD, first(2))
    call asphalt_persistent_isend(s(1,1), 100, MPI_INTEGER, next, 1, MPI_COMM_WORLD, second(2))
    call asphalt_wait(second(2), s)
    call asphalt_wait(second(1), r)
    call asphalt_wait(first(1), r)
    call asphalt_wait(first(2), s)
    do i = 1, 2
      call expect(all(r(:100,i) == value(before, [(i, i=1,100)], 1)), 'two at a time')
    end do
    call turn(MPI_COMM_WORLD, 100)
  end subroutine in_progress

  !> A persistent request of the program itself is one behind the wait, as behind MPI_WAIT.
  subroutine of_the_program()
    integer :: own, handle, receive
    call MPI_Send_init(s(1,1), 100, MPI_INTEGER, next, 7, MPI_COMM_WORLD, own, ierr)
    handle = own
    call asphalt_persistent_irecv(r(1,1), 100, MPI_INTEGER, before, 7, MPI_COMM_WORLD, receive)
    call MPI_Start(own, ierr)
    call asphalt_wait(own, s)
    call asphalt_wait(receive, r)
    call expect(own == handle .and. receive == MPI_REQUEST_NULL, 'the handle of the program')
    call MPI_Request_free(own, ierr)
  end subroutine of_the_program

  !> Data types of the program may be freed, and their handles be used again.
  subroutine other_types()
    integer :: strided, times, requests(2), i, kept
    kept = kept_transfers
    do times = 1, 4
      round = round + 1
      s(:,1) = [(value(me, i, 1), i=1,most)]
      r = -1
      call MPI_Type_vector(50, 1, times, MPI_INTEGER, strided, ierr)
      call MPI_Type_commit(strided, ierr)
      call asphalt_persistent_irecv(r(2,1), 1, strided, before, 3, MPI_COMM_WORLD, requests(1))
      call asphalt_persistent_isend(s(2,1), 1, strided, next, 3, MPI_COMM_WORLD, requests(2))
      call asphalt_wait_all(2, requests, r, s)
      call MPI_Type_free(strided, ierr)
      call expect(all(r(2:1+50*times:times,1) == value(before, [(i, i=2,1+50*times,times)], 1)), &
                  'another layout')
      if (times > 1) call expect(r(3,1) == -1, 'what lies between')
    end do
    call expect(kept_transfers == kept, 'types of the program')
  end subroutine other_types

  !> Nobody sends, and nobody receives.
  subroutine nobody()
    integer :: requests(2), kept, status(MPI_STATUS_SIZE), count
    kept = kept_transfers
    r(1,1) = 7
    call asphalt_persistent_irecv(r(1,1), 200, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &
                                  requests(1))
    call asphalt_persistent_isend(s(1,1), 200, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &
                                  requests(2))
    call asphalt_wait(requests(1), r, status)
    call asphalt_wait(requests(2), s)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call expect(status(MPI_SOURCE) == MPI_PROC_NULL .and. count == 0, 'the status of nobody')
    call expect(r(1,1) == 7 .and. kept_transfers == kept, 'nobody')
  end subroutine nobody

  !> A receive from anybody tells the source each time.
  subroutine statuses()
    integer :: requests(2), status(MPI_STATUS_SIZE), count, times
    do times = 1, 3
      call asphalt_persistent_irecv(r(1,1), most, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, &
                                    MPI_COMM_WORLD, requests(1))
      call asphalt_persistent_isend(s(1,1), 100*times, MPI_INTEGER, next, 10 + times, &
                                    MPI_COMM_WORLD, requests(2))
      status = -1
      call asphalt_wait(requests(1), r, status)
      call asphalt_wait(requests(2), s)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call expect(count == 100*times .and. status(MPI_SOURCE) == before &
                  .and. status(MPI_TAG) == 10 + times, 'the status')
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
    end do
  end subroutine statuses

  !> A communicator goes, and another one gets its handle.
  subroutine communicators()
    integer :: comm, kept, times, own_before, own_next
    own_before = before
    own_next = next
    kept = kept_transfers
    do times = 1, 4
      call MPI_Comm_split(MPI_COMM_WORLD, 0, merge(me, -me, mod(times, 2) == 0), comm, ierr)
      call MPI_Comm_rank(comm, me, ierr)
      next = mod(me + 1, np)
      before = mod(me + np - 1, np)
      call turn(comm, 100)
      call turn(comm, 100)
      call MPI_Comm_free(comm, ierr)
      call expect(kept_transfers == kept, 'they go with their communicator')
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    end do
    next = own_next
    before = own_before
  end subroutine communicators

  !> A communicator is freed while its messages are in progress.
  subroutine freed_meanwhile()
    integer :: comm, kept, requests(2), i
    kept = kept_transfers
    round = round + 1
    s(:,1) = [(value(me, i, 1), i=1,most)]
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call asphalt_persistent_irecv(r(1,1), 300, MPI_INTEGER, before, 1, comm, requests(1))
    call asphalt_persistent_isend(s(1,1), 300, MPI_INTEGER, next, 1, comm, requests(2))
    call MPI_Comm_free(comm, ierr)
    call asphalt_wait_all(2, requests, r, s)
    call expect(all(r(:300,1) == value(before, [(i, i=1,300)], 1)), 'what came meanwhile')
    call expect(kept_transfers == kept, 'they go when they are complete')
  end subroutine freed_meanwhile

  !> More messages than the table has.
  subroutine many()
    integer :: requests(2), tag, kept
    do tag = 100, 400
      if (tag == 400) kept = kept_transfers
      s(1,2) = tag
      call asphalt_persistent_irecv(r(1,2), 100, MPI_INTEGER, before, tag, MPI_COMM_WORLD, requests(1))
      call asphalt_persistent_isend(s(1,2), 100, MPI_INTEGER, next, tag, MPI_COMM_WORLD, requests(2))
      call asphalt_wait_all(2, requests, r, s)
      call expect(r(1,2) == tag, 'one of many')
    end do
    call expect(kept_transfers == kept, 'the table is full')
  end subroutine many
end module messages

program main
  use messages
  implicit none
  integer :: total, provided
  logical :: threads
  threads = command_argument_count() > 0
  call MPI_Init_thread(merge(MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE, threads), provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  next = mod(me + 1, np)
  before = mod(me + np - 1, np)
  keeps = may_keep()
  call expect(keeps .eqv. (provided /= MPI_THREAD_MULTIPLE .and. .not. is_smpi()), 'may keep')
  keeps = keeps .and. is_open_mpi()
  call again()
  call other_lengths()
  call in_progress()
  call of_the_program()
  call other_types()
  call nobody()
  call statuses()
  call communicators()
  call freed_meanwhile()
  call many()
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)
  if (kept_transfers /= 0) print '(a)', 'FAIL left at the end'
end program main
