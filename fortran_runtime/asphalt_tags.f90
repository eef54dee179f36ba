! A communicator and a tag for the messages of a collective operation.
!
! For the other modules of the runtime
!   private_messages   the private duplicate of a communicator, and a tag for one operation on it
!
! Nothing here is for transformed code.
module asphalt_tags
  use asphalt_core, only: int64
  use asphalt_communicators, only: companion, find_companion, private_duplicate, too_early
  use mpi, only: MPI_COMM_NULL, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: private_messages

  !> The greatest tag that every MPI has (MPI-3.1 section 8.1.2).
  integer, parameter :: most_tags = 32767

contains

  !> The private duplicate of `comm`, and a tag for the messages of one operation on it: no other
  !! one has it that may be under way at the same time, and an exchange in tiles has none of these.
  !!
  !! All ranks of `comm` call it together, with the same `block`: bytes of a block, 0 where they are
  !! not known to be equal.  Not `usable`: too little has come by yet to be worth a duplicate.
  subroutine private_messages(comm, block, own, tag, usable)
    integer, intent(in) :: comm
    integer(int64), intent(in) :: block
    integer, intent(out) :: own, tag
    logical, intent(out) :: usable
    type(companion), pointer :: carried
    integer :: ierror

    own = MPI_COMM_NULL
    tag = 0
    call find_companion(comm, carried, ierror)
    usable = ierror == MPI_SUCCESS
    if (usable .and. block > 0) usable = .not. too_early(carried, block, .true.)
    if (usable) call private_duplicate(comm, own, .true., usable, ierror)
    if (.not. usable) return
    carried%exchanges = 1 + mod(carried%exchanges, most_tags)
    tag = carried%exchanges
  end subroutine private_messages
end module asphalt_tags
