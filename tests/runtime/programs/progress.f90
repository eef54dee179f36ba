! Which messages asphalt_progress takes in: none of a tile before those that are expected last.
program progress
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_isend
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, parameter :: depth = 2, sends = depth, most_calls = 1000
  integer :: sent(0:3), received(0:3), failures, error, tile
  type(asphalt_exchange_t) :: x, none

  call MPI_Init(error)
  failures = 0
  x%tiled = .true.
  x%k = 1
  x%tile = 2
  allocate(x%messages)
  allocate(x%messages%requests(3*depth), source=MPI_REQUEST_NULL)
  sent = [5, 6, 7, 8]
  received = 0
  call post(0)
  call post(1)
  call send(0)
  call progressed(until=0)
  call check(is_there(0) .and. is_there(1), 'of two tiles the later one is tested')
  call post(2)
  call send(1)
  call progressed(until=1)
  call check(is_there(0), 'behind a tile comes the one that was posted for it')
  call check(is_there(2), 'what is not sent is not there')
  call post(3)
  call MPI_Waitall(1, x%messages%requests(slot(0):slot(0)), MPI_STATUSES_IGNORE, error)  ! as behind each tile
  call send(2)
  call progressed(until=2)
  call check(is_there(3) .and. .not. is_there(2), 'around the ring')
  call send(3)
  call progressed(until=3)
  call progressed(until=0)
  call check(all(x%messages%requests == MPI_REQUEST_NULL), 'in the end all are tested')
  call check(all(received == sent), 'what was sent is what was received')
  x%messages%requests = MPI_REQUEST_NULL
  call post(0)
  call send(0)
  call progressed(until=0)
  call check(.not. is_there(0), 'of one exchange nothing is known in the next one')
  call none%progress()  ! of one that is not tiled
  none%tiled = .true.
  allocate(none%messages)
  allocate(none%messages%requests(0))
  do tile = 1, 3
    call none%progress()
  end do
  call MPI_Waitall(size(x%messages%requests), x%messages%requests, MPI_STATUSES_IGNORE, error)
  call check(error == MPI_SUCCESS .and. x%error == MPI_SUCCESS .and. none%error == MPI_SUCCESS, &
             'no errors')
  if (failures == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(2a,6(1x,l1))', 'FAIL ', what, x%messages%requests /= MPI_REQUEST_NULL
  end subroutine check

  !> Where the request of a tile's receive is.
  integer function slot(tile)
    integer, intent(in) :: tile
    slot = sends + 1 + mod(tile, 2*depth)
  end function slot

  logical function is_there(tile)
    integer, intent(in) :: tile
    is_there = x%messages%requests(slot(tile)) /= MPI_REQUEST_NULL
  end function is_there

  subroutine post(tile)
    integer, intent(in) :: tile
    call asphalt_irecv(received(tile:tile), 1, MPI_INTEGER, 0, tile, MPI_COMM_SELF, &
                       x%messages%requests(slot(tile)), error)
  end subroutine post

  subroutine send(tile)
    integer, intent(in) :: tile
    integer :: own
    own = 1 + mod(tile, depth)
    call MPI_Waitall(1, x%messages%requests(own:own), MPI_STATUSES_IGNORE, error)
    call asphalt_isend(sent(tile:tile), 1, MPI_INTEGER, 0, tile, MPI_COMM_SELF, &
                       x%messages%requests(own), error)
  end subroutine send

  !> Calls often enough for the receive of a tile to be complete; or for any that is there.
  subroutine progressed(until)
    integer, intent(in) :: until
    integer :: call
    do call = 1, most_calls
      if (.not. is_there(until)) return
      call x%progress()
    end do
  end subroutine progressed

end program progress
