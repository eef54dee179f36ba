! What carries the pieces of an exchange in tiles: two-sided messages, each started anew.
!
! For the other modules of the runtime
!   backend_t   a backend, and the requests of the pieces that it carries
!
! Nothing here is for transformed code.
!
! A backend says what happens at four points of a piece, and nothing else of an exchange: at its
! receiver, that the destination may be written (`destination_ready`), and that it is about to be
! read (`destination_needed`); at its sender, that the source has its final values
! (`source_ready`), and that it is about to be changed (`source_volatile`).  A piece has a slot from
! its first point to its second.  Other backends extend this one.
module asphalt_backend_isend
  use asphalt_core, only: asphalt_byte, asphalt_irecv, asphalt_isend, asphalt_waitall
  use mpi, only: MPI_COMM_NULL, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: backend_t

  !> A backend: this one is `isend`.
  type :: backend_t
    !> Under which number the ranks agree about it; whether it needs a private communicator; whether
    !! it keeps messages from one exchange to the next, and with them the types of the runtime.
    integer :: number = 1
    logical :: apart = .false., keeps = .false.
    !> The communicator of the program, that of the messages, their tag, and their first error.
    integer :: owner = MPI_COMM_NULL, comm = MPI_COMM_NULL, tag = 0, error = MPI_SUCCESS
    !> One for each slot: those of sources, and behind them those of destinations.  Where nothing is
    !! pending, or the backend has no requests of MPI, `asphalt_no_request`.
    integer, allocatable :: requests(:)
  contains
    procedure :: destination_ready => receive_anew
    procedure :: source_ready => send_anew
    procedure :: destination_needed => complete
    procedure :: source_volatile => complete
    procedure :: leave => forget_requests
  end type backend_t

contains

  !> The destination may be written from now on: `count` of `datatype` from `buf` on.
  subroutine receive_anew(b, buf, count, datatype, source, slot)
    class(backend_t), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, source, slot

    call asphalt_irecv(buf, count, datatype, source, b%tag, b%comm, b%requests(slot), b%error)
  end subroutine receive_anew

  !> The source has its final values.
  subroutine send_anew(b, buf, count, datatype, dest, slot)
    class(backend_t), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, dest, slot

    call asphalt_isend(buf, count, datatype, dest, b%tag, b%comm, b%requests(slot), b%error)
  end subroutine send_anew

  !> The destinations, or the sources, of `count` slots behind `slot` are about to be used again.
  subroutine complete(b, slot, count)
    class(backend_t), intent(inout) :: b
    integer, intent(in) :: slot, count

    call asphalt_waitall(count, b%requests(slot+1:slot+count), b%error)
  end subroutine complete

  !> The exchange is over, and no piece is on its way.
  subroutine forget_requests(b)
    class(backend_t), intent(inout) :: b

    deallocate(b%requests)
  end subroutine forget_requests
end module asphalt_backend_isend
