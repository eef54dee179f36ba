#include "binding.h"
! Legal messages of all kinds: nothing is to be found, and results are what they are without.
program clean_messages
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, left, right, ierr, step, i, done, index, indices(8), from
  integer :: whole(20), part(20), grid(6, 5), column(6), numbers(8), incoming(4, 8), order(8)
  integer :: shared
  real(8) :: ring_out(100), ring_in(100), total
  logical :: flag
  character(1) :: attached(20000)
  REQUEST :: requests(8), pair(2), one
  DATATYPE :: row, both_sent, both_received, types(2)
  integer(MPI_ADDRESS_KIND) :: at(2)
  integer, save :: fixed(5), fixed_in(5)
  real(8), allocatable :: long(:), long_in(:)
  STATUS(status)
  STATUSES(statuses, 8)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)

  ! a ring that uses one tag again and again, several steps in flight
  total = 0
  do step = 1, 10
    ring_out = rank + step
    do i = 1, 4
      call MPI_Irecv(ring_in(25*i-24), 25, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, &
                     requests(i), ierr)
      call MPI_Isend(ring_out(25*i-24), 25, MPI_DOUBLE_PRECISION, right, 3, MPI_COMM_WORLD, &
                     requests(4+i), ierr)
    end do
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierr)
    total = total + sum(ring_in)
  end do
  call show('ring', nint(total))

  ! persistent requests
  call MPI_Recv_init(part, 20, MPI_INTEGER, left, 4, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Send_init(whole, 20, MPI_INTEGER, right, 4, MPI_COMM_WORLD, pair(2), ierr)
  do step = 1, 3
    whole = 100*rank + step
    part = 0
    if (step < 3) then
      call MPI_Startall(2, pair, ierr)
      call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
    else
      call MPI_Start(pair(1), ierr)
      call MPI_Start(pair(2), ierr)
      call MPI_Wait(pair(1), status, ierr)
      call MPI_Wait(pair(2), status, ierr)
    end if
    call show('persistent', sum(part))
  end do
  call MPI_Request_free(pair(1), ierr)
  call MPI_Request_free(pair(2), ierr)

  ! a message that is shorter than its receive leaves the rest alone
  part = -7
  call MPI_Irecv(part, 20, MPI_INTEGER, left, 5, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Issend(whole, 3 + rank, MPI_INTEGER, right, 5, MPI_COMM_WORLD, pair(2), ierr)
  call MPI_Waitall(2, pair, statuses, ierr)
  call show('partial', sum(part))

  ! a short message, and behind it one that is as long and fills its receive
  do step = 1, 3
    part = -7
    call MPI_Irecv(part, 20, MPI_INTEGER, left, 15, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(order, 4, MPI_INTEGER, left, 15, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Send(whole, 4, MPI_INTEGER, right, 15, MPI_COMM_WORLD, ierr)
    if (step == 1) call MPI_Wait(requests(1), status, ierr)
    call MPI_Send(whole(5), 4, MPI_INTEGER, right, 15, MPI_COMM_WORLD, ierr)
    if (step < 3) then
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    else
      call MPI_Wait(requests(1), status, ierr)
      call MPI_Wait(requests(2), status, ierr)
    end if
    call show('short', sum(part) + sum(order(:4)))
  end do

  ! a data type with gaps: the rest of the grid is used meanwhile
  grid = reshape([(i, i = 1, 30)], [6, 5])
  call MPI_Type_vector(5, 1, 6, MPI_INTEGER, row, ierr)
  call MPI_Type_commit(row, ierr)
  call MPI_Irecv(grid(1, 1), 1, row, left, 6, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Isend(grid(6, 1), 1, row, right, 6, MPI_COMM_WORLD, pair(2), ierr)
  call MPI_Sendrecv(grid(5, 1), 1, row, right, 16, grid(2, 1), 1, row, left, 16, MPI_COMM_WORLD, &
                    status, ierr)
  call MPI_Type_free(row, ierr)
  grid(2:5, :) = grid(2:5, :) + rank
  call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
  call show('gaps', sum(grid*reshape([(i, i = 1, 30)], [6, 5])))

  ! receives from anybody: one after the other, and at once with statuses that tell whose it is
  numbers = rank
  if (rank == 0) then
    do i = 1, ranks - 1
      call MPI_Irecv(column, 6, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, one, ierr)
      call MPI_Wait(one, status, ierr)
      order(SOURCE_OF(status)) = column(1)
    end do
    print '(a, 1x, i0)', 'series', sum(order(:ranks-1))
    do i = 1, ranks - 1
      call MPI_Irecv(incoming(1, i), 4, MPI_INTEGER, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &
                     requests(i), ierr)
    end do
    call MPI_Testall(ranks - 1, requests, flag, statuses, ierr)
    if (.not. flag) call MPI_Waitall(ranks - 1, requests, statuses, ierr)
    print '(a, 1x, i0)', 'at once', sum(incoming(1, :ranks-1))
  else
    call MPI_Send(numbers, 6, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierr)
    call MPI_Ssend(numbers, 4, MPI_INTEGER, 0, 8, MPI_COMM_WORLD, ierr)
  end if

  ! receives that are completed one by one
  incoming = 0
  do i = 1, 4
    call MPI_Irecv(incoming(1, i), 4, MPI_INTEGER, left, 10 + i, MPI_COMM_WORLD, requests(i), ierr)
  end do
  do i = 4, 1, -1
    numbers(:4) = 10*i + rank
    call MPI_Send(numbers, 4, MPI_INTEGER, right, 10 + i, MPI_COMM_WORLD, ierr)
  end do
  flag = .false.
  do while (.not. flag)
    call MPI_Testany(4, requests, index, flag, status, ierr)
  end do
  call MPI_Waitany(4, requests, index, status, ierr)
  done = 2
  do while (done < 4)
    call MPI_Testsome(4, requests, from, indices, statuses, ierr)
    done = done + from
  end do
  ! not by index: some versions of MPICH count from 0 in mpi_f08
  from = sum(incoming)
  call show('one by one', from)

  ! nobody, nothing, and a receive that is cancelled
  column = rank
  call MPI_Irecv(column, 6, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(column, 6, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Irecv(column, 0, MPI_INTEGER, left, 20, MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Isend(column, 0, MPI_INTEGER, right, 20, MPI_COMM_WORLD, requests(4), ierr)
  column = column + 1
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  call MPI_Irecv(column, 6, MPI_INTEGER, left, 21, MPI_COMM_WORLD, one, ierr)
  call MPI_Cancel(one, ierr)
  call MPI_Wait(one, status, ierr)
  call show('nothing', sum(column))

  ! sends that are kept elsewhere, in one variable, or whose handle is given up
  call MPI_Buffer_attach(attached, size(attached), ierr)
  call MPI_Ibsend(whole, 20, MPI_INTEGER, right, 22, MPI_COMM_WORLD, one, ierr)
  call MPI_Request_free(one, ierr)
  call MPI_Recv(part, 20, MPI_INTEGER, left, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  shared = rank
  call MPI_Sendrecv_replace(shared, 1, MPI_INTEGER, right, 23, left, 23, MPI_COMM_WORLD, status, &
                            ierr)
  call show('replaced', sum(part) + shared)

  ! two receives at once with different tags, in another order than the sends
  call MPI_Irecv(part, 10, MPI_INTEGER, left, 31, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Irecv(part(11), 10, MPI_INTEGER, left, 30, MPI_COMM_WORLD, pair(2), ierr)
  whole(1:10) = 1
  whole(11:20) = 2
  call MPI_Send(whole, 10, MPI_INTEGER, right, 30, MPI_COMM_WORLD, ierr)
  call MPI_Send(whole(11), 10, MPI_INTEGER, right, 31, MPI_COMM_WORLD, ierr)
  call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
  call show('tags', sum(part(:10)))

  ! a long message; and one of two variables that lie far apart, named by their addresses
  allocate(long(300000), long_in(300000))
  long = rank
  long_in = -1
  call MPI_Irecv(long_in, 300000, MPI_DOUBLE_PRECISION, left, 35, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Isend(long, 300000, MPI_DOUBLE_PRECISION, right, 35, MPI_COMM_WORLD, pair(2), ierr)
  call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
  call show('long', nint(sum(long_in)))
  fixed = rank + 5
  types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
  call MPI_Get_address(fixed, at(1), ierr)
  call MPI_Get_address(long, at(2), ierr)
  call MPI_Type_create_struct(2, [5, 7], at, types, both_sent, ierr)
  call MPI_Type_commit(both_sent, ierr)
  call MPI_Get_address(fixed_in, at(1), ierr)
  call MPI_Get_address(long_in, at(2), ierr)
  call MPI_Type_create_struct(2, [5, 7], at, types, both_received, ierr)
  call MPI_Type_commit(both_received, ierr)
  fixed_in = -1
  long_in = -1
  call MPI_Irecv(MPI_BOTTOM, 1, both_received, left, 36, MPI_COMM_WORLD, pair(1), ierr)
  call MPI_Isend(MPI_BOTTOM, 1, both_sent, right, 36, MPI_COMM_WORLD, pair(2), ierr)
  call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
  call MPI_Type_free(both_sent, ierr)
  call MPI_Type_free(both_received, ierr)
  call show('far apart', sum(fixed_in) + nint(sum(long_in)))

  ! a receive whose status is asked for before its wait
  call MPI_Irecv(part, 20, MPI_INTEGER, left, 40, MPI_COMM_WORLD, one, ierr)
  call MPI_Send(whole, 20, MPI_INTEGER, right, 40, MPI_COMM_WORLD, ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status(one, flag, status, ierr)
  end do
  part = part + 1
  call MPI_Wait(one, status, ierr)
  call show('status', sum(part))

  call MPI_Finalize(ierr)

contains

  subroutine show(name, value)
    character(*), intent(in) :: name
    integer, intent(in) :: value
    integer :: all(8), error

    call MPI_Gather(value, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, 8(1x, i0))', name, all(:ranks)
  end subroutine show

end program clean_messages
