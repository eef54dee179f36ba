! What carries the pieces of an exchange in tiles: two-sided messages, each started anew.
!
! For the other modules of the runtime
!   backend_t   a backend, and the requests of the pieces that it carries
!   offer_t     a place for a backend
!
! Nothing in this module is for transformed code.  Behind it stands
!   asphalt_by_isend   offers this backend
!
! A backend says what happens at four points of a piece, and nothing else of an exchange: at its
! receiver, that the destination may be written (`destination_ready`), and that it is about to be
! read (`destination_needed`); at its sender, that the source has its final values
! (`source_ready`), and that it is about to be changed (`source_volatile`).  A piece has a slot from
! its first point to its second.
!
! Other backends extend this one.  Each has a module, asphalt_backend_NAME, and behind it a
! procedure asphalt_by_NAME, which offers it.  The header of the transformed code says which of
! these procedures is passed to the beginning of an exchange, and nothing else says so: no other
! module, and no other text, knows what backends there are.
module asphalt_backend_isend
  use asphalt_core, only: asphalt_byte, asphalt_irecv, asphalt_isend, keep_first
  use mpi, only: MPI_COMM_NULL, MPI_STATUSES_IGNORE, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: backend_t, offer_t

  !> A backend: this one is `isend`.
  type :: backend_t
    !> Under which number the ranks agree about it; whether it needs a private communicator; whether
    !! it keeps messages from one exchange to the next, and with them the types of the runtime.
    integer :: number = 1
    logical :: apart = .false., keeps = .false.
    !> The communicator of the program, that of the messages, their tag, and their first error.
    integer :: owner = MPI_COMM_NULL, comm = MPI_COMM_NULL, tag = 0, error = MPI_SUCCESS
    !> One for each slot: those of sources, and behind them those of destinations.  Where nothing is
    !! pending, or the backend has no requests of MPI, MPI_REQUEST_NULL.
    integer, allocatable :: requests(:)
    !> The site of the exchange; whether its buffers last as long as the program.
    character(:), allocatable :: site
    logical :: lasting = .false.
  contains
    procedure :: open => as_it_is, leave => forget_requests
    procedure :: destination_ready => receive_anew, destination_needed => complete
    procedure :: source_ready => send_anew, source_volatile => complete
  end type backend_t

  !> A place for a backend: procedures without an explicit interface can fill it.
  type :: offer_t
    class(backend_t), allocatable :: backend
  end type offer_t

contains

  !> An exchange is about to begin, whose site and communicator are set: sets `apart` and `keeps`.
  subroutine as_it_is(b)
    class(backend_t), intent(inout) :: b

    b%keeps = .false.
  end subroutine as_it_is

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
    integer :: error

    call MPI_Waitall(count, b%requests(slot+1:slot+count), MPI_STATUSES_IGNORE, error)
    call keep_first(error, b%error)
  end subroutine complete

  !> The exchange is over, and no piece is on its way.
  subroutine forget_requests(b)
    class(backend_t), intent(inout) :: b

    deallocate(b%requests)
  end subroutine forget_requests
end module asphalt_backend_isend

!> Offers messages that are started anew.
subroutine asphalt_by_isend(offered)
  use asphalt_backend_isend, only: offer_t
  implicit none
  type(offer_t), intent(inout) :: offered

  allocate(offered%backend)
end subroutine asphalt_by_isend
