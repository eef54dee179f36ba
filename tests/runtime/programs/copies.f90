! Room for copies of messages: within the limit, used again once it is free, given up where another
! size is needed.
program copies
  use mpi
  use asphalt_copies, only: copied, find_room, give_back, message, usual_mebibytes
  use asphalt_core, only: int64
  implicit none
  type :: held
    type(message), pointer :: one => null()
  end type held
  type(held) :: m(4)
  integer :: me, error, wrong, total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  wrong = 0
  call expect(usual_mebibytes > 0 .and. copied == 0, 'nothing is held at first')
  call no_room()
  call room_again()
  call another_size()
  call several()
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a)', 'FAIL ', what
  end subroutine expect

  !> Asks for room for `count` elements of `bytes`; the bytes of the copy, or -1 if there is none.
  integer function room(h, count, bytes, limit)
    type(held), intent(inout) :: h
    integer, intent(in) :: count, bytes, limit
    if (.not. associated(h%one)) allocate(h%one)
    h%one%count = count
    h%one%bytes = bytes
    call find_room(h%one, int(limit, int64))
    room = -1
    if (allocated(h%one%copy)) room = size(h%one%copy)
  end function room

  subroutine release(h)
    type(held), intent(inout) :: h
    call give_back(h%one)
    nullify (h%one)
  end subroutine release

  subroutine no_room()
    call expect(room(m(1), 10, 0, 1000) == -1, 'elements with gaps')
    call expect(room(m(1), 126, 8, 1000) == -1, 'more than the limit')
    call expect(room(m(1), huge(1), 16, huge(1)) == -1, 'more than a default integer')
    call expect(copied == 0, 'nothing is held')
    deallocate (m(1)%one)
  end subroutine no_room

  subroutine room_again()
    call expect(room(m(1), 100, 8, 1000) == 800 .and. copied == 800, 'the first copy')
    m(1)%one%copy = 7
    call expect(room(m(1), 100, 8, 1000) == 800 .and. copied == 800, 'it has one')
    call expect(all(m(1)%one%copy == 7), 'which stays')
    call expect(room(m(2), 201, 1, 1000) == -1 .and. copied == 800, 'both have no room')
    call expect(room(m(2), 200, 1, 1000) == 200 .and. copied == 1000, 'but these have')
    call release(m(1))
    call expect(copied == 1000, 'what is free is held')
    call expect(room(m(3), 3, 1, 1000) == 800 .and. copied == 1000, 'and used again')
    call release(m(2))
    call release(m(3))
  end subroutine room_again

  !> Copies of 200 and 800 bytes are free, the longer one first.
  subroutine another_size()
    call expect(room(m(1), 900, 1, 1000) == 900, 'neither is long enough')
    call expect(copied == 900, 'both are given up')
    call release(m(1))
    call expect(room(m(1), 0, 8, 1000) == 900, 'no elements')
    call expect(room(m(2), 0, 8, 1000) == 1 .and. copied == 901, 'no elements have an address')
    call release(m(1))
    call release(m(2))
  end subroutine another_size

  !> Copies of 1 and 900 bytes are free, the shorter one first.
  subroutine several()
    call expect(room(m(1), 10, 10, 1000) == 900, 'the first one that is long enough')
    call expect(room(m(2), 1, 1, 1000) == 1, 'the one before it is still there')
    call expect(room(m(3), 50, 1, 1000) == 50 .and. copied == 951, 'a new one')
    call release(m(1))
    call release(m(2))
    call release(m(3))
    call expect(room(m(1), 60, 1, 100) == 900, 'what is there is used, whatever the limit')
    call expect(room(m(2), 60, 1, 100) == -1 .and. copied == 900, 'nothing else is kept above it')
  end subroutine several
end program copies
