! Copies of buffers from which messages leave, or into which they come, and how much memory they
! have.
!
! For the other modules of the runtime
!   message        a message with its copy
!   find_room      gives a message a copy, one that is free again if it can
!   give_back      the copy of a message that is complete is free again
!   copied         the bytes of all copies together
!
! Nothing here is for transformed code, and nothing communicates.
module asphalt_copies
  use asphalt_core, only: asphalt_byte, int64
  use mpi, only: MPI_REQUEST_NULL
  implicit none
  private
  ! for the other modules of the runtime
  public :: message, find_room, give_back, copied, usual_mebibytes

  !> A message that comes into a copy of the buffer where it will be used, or leaves from one.
  type :: message
    integer(asphalt_byte), allocatable :: copy(:)
    !> What it is asked for with.
    integer :: count, datatype, source, tag, comm
    !> Bytes of an element, 0 where elements have gaps; its receive or send, once it is started, and
    !! the receive into the buffer that it leaves, or itself where that is `from_nobody`.
    integer :: bytes = 0, request = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL
    logical :: posted = .false., from_nobody = .false.
    type(message), pointer :: next => null()
  end type message

  !> Messages that are used, whose copies the next ones may take.
  type(message), pointer :: spare => null()
  !> Bytes of all copies, spare ones included, and the most there may be unless a call says more.
  integer(int64) :: copied = 0
  integer, parameter :: usual_mebibytes = 64

contains

  !> Gives a message a copy, a spare one if it can, unless all copies together would have more than
  !! `limit` bytes or the elements of its data type have gaps.
  subroutine find_room(new, limit)
    type(message), intent(inout) :: new
    integer(int64), intent(in) :: limit
    type(message), pointer :: used, previous
    integer(int64) :: bytes

    bytes = max(1_int64, int(new%count, int64) * new%bytes)
    if (allocated(new%copy) .or. new%bytes == 0 .or. bytes > limit) return
    nullify (previous)
    used => spare
    do while (associated(used))
      if (size(used%copy, kind=int64) >= bytes) then
        if (associated(previous)) then
          previous%next => used%next
        else
          spare => used%next
        end if
        call move_alloc(used%copy, new%copy)
        deallocate (used)
        return
      end if
      previous => used
      used => used%next
    end do
    do while (copied + bytes > limit .and. associated(spare))
      used => spare
      spare => used%next
      copied = copied - size(used%copy, kind=int64)
      deallocate (used)
    end do
    if (copied + bytes > limit) return
    allocate (new%copy(bytes))
    copied = copied + bytes
  end subroutine find_room
  !> The copy of a message that is complete is free for others.
  subroutine give_back(used)
    type(message), pointer, intent(in) :: used

    used%next => spare
    spare => used
  end subroutine give_back

end module asphalt_copies
