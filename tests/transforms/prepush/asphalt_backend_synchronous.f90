! A backend that asphalt does not have: pieces leave by MPI_Issend, and are waited for one by one.
! The four points of an exchange are written anew here, and the runtime stays as it is.
module asphalt_backend_synchronous
  use, intrinsic :: iso_fortran_env, only: error_unit
  use asphalt_core, only: asphalt_byte, keep_first
  use asphalt_backend_isend, only: backend_t
  use mpi
  implicit none
  private
  public :: synchronous_t

  type, extends(backend_t) :: synchronous_t
    integer :: pieces = 0
  contains
    procedure :: leave => tell
    procedure :: destination_ready => receive, destination_needed => wait_for_each
    procedure :: source_ready => send, source_volatile => wait_for_each
  end type synchronous_t

contains

  subroutine receive(b, buf, count, datatype, source, slot)
    class(synchronous_t), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, source, slot
    integer :: error

    call MPI_Irecv(buf, count, datatype, source, b%tag, b%comm, b%requests(slot), error)
    call keep_first(error, b%error)
  end subroutine receive

  subroutine send(b, buf, count, datatype, dest, slot)
    class(synchronous_t), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, dest, slot
    integer :: error

    b%pieces = b%pieces + 1
    call MPI_Issend(buf, count, datatype, dest, b%tag, b%comm, b%requests(slot), error)
    call keep_first(error, b%error)
  end subroutine send

  subroutine wait_for_each(b, slot, count)
    class(synchronous_t), intent(inout) :: b
    integer, intent(in) :: slot, count
    integer :: number, error

    do number = slot + 1, slot + count
      call MPI_Wait(b%requests(number), MPI_STATUS_IGNORE, error)
      call keep_first(error, b%error)
    end do
  end subroutine wait_for_each

  subroutine tell(b)
    class(synchronous_t), intent(inout) :: b

    write(error_unit, '(a,i0)') 'synchronous pieces: ', b%pieces
    call b%backend_t%leave()
  end subroutine tell
end module asphalt_backend_synchronous

subroutine asphalt_by_synchronous(offered)
  use asphalt_backend_isend, only: offer_t
  use asphalt_backend_synchronous, only: synchronous_t
  implicit none
  type(offer_t), intent(inout) :: offered

  allocate(synchronous_t :: offered%backend)
  offered%backend%number = 3
end subroutine asphalt_by_synchronous
