! Records the messages that a program starts and completes, by MPI's profiling interface (MPI-4.0
! section 15.2): one line for each call, in a file of the rank.
!
!   S or R  rank of the other side, tag, address of the request, address of the buffer, and the
!           elements of double precision from there on that the message has, in its order
!   P       handle of a persistent request, whose message follows
!   W       address of the first request, number of requests
module recorder
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc, c_ptr
  use mpi, only: MPI_COMM_SELF
  implicit none
  private
  public :: recording, record, address, message, remember, forget, started
  !> The unit of the file; 0: nothing is recorded.
  integer, save :: recording = 0
  !> More elements than a message has here.
  integer, parameter :: most = 2000

  !> A persistent request, whose messages are recorded when they are started.
  type :: kept
    character(1) :: letter
    type(c_ptr) :: buffer
    integer :: count, datatype, peer, tag, request
    logical :: there = .false.
  end type kept
  type(kept), save :: all_kept(2000)

contains

  !> Remembers a request that is made.
  subroutine remember(letter, buffer, count, datatype, peer, tag, request)
    character(1), intent(in) :: letter
    type(c_ptr), intent(in) :: buffer
    integer, intent(in) :: count, datatype, peer, tag, request
    integer :: place

    do place = 1, size(all_kept)
      if (.not. all_kept(place)%there) exit
    end do
    all_kept(place) = kept(letter, buffer, count, datatype, peer, tag, request, .true.)
  end subroutine remember

  !> Forgets a request that is freed.
  subroutine forget(request)
    integer, intent(in) :: request

    where (all_kept%request == request) all_kept%there = .false.
  end subroutine forget

  !> Records a request that is started.
  subroutine started(request)
    integer, intent(in), target :: request
    integer :: place

    do place = 1, size(all_kept)
      associate (one => all_kept(place))
        if (.not. one%there .or. one%request /= request) cycle
        call record('P', int([request], c_intptr_t))
        call message(one%letter, one%buffer, one%count, one%datatype, one%peer, one%tag, &
                     c_loc(request))
        return
      end associate
    end do
  end subroutine started

  !> Writes numbers behind a letter.
  subroutine record(letter, numbers)
    character(*), intent(in) :: letter
    integer(c_intptr_t), intent(in) :: numbers(:)

    if (recording /= 0) write(recording, '(a,*(1x,i0))') letter, numbers
  end subroutine record

  integer(c_intptr_t) function address(place)
    type(c_ptr), intent(in) :: place

    address = transfer(place, address)
  end function address

  !> Writes the elements of a message: packed from an array in which each is its own index.
  subroutine message(letter, buffer, count, datatype, peer, tag, request)
    character(*), intent(in) :: letter
    type(c_ptr), intent(in) :: buffer, request
    integer, intent(in) :: count, datatype, peer, tag
    double precision :: index(0:most-1), packed(most)
    integer :: element, filled, error
    external :: PMPI_Pack

    if (recording == 0) return
    index = [(dble(element), element=0,most-1)]
    filled = 0
    call PMPI_Pack(index, count, datatype, packed, 8*most, filled, MPI_COMM_SELF, error)
    call record(letter, [int([peer, tag], c_intptr_t), address(request), address(buffer), &
                         int(packed(:filled/8), c_intptr_t)])
  end subroutine message
end module recorder

subroutine MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierror)
  use, intrinsic :: iso_c_binding, only: c_loc, c_signed_char
  use recorder, only: message
  implicit none
  integer(c_signed_char), target :: buf(*)
  integer :: count, datatype, dest, tag, comm, ierror
  integer, target :: request
  external :: PMPI_Isend

  call message('S', c_loc(buf), count, datatype, dest, tag, c_loc(request))
  call PMPI_Isend(buf, count, datatype, dest, tag, comm, request, ierror)
end subroutine MPI_Isend

subroutine MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
  use, intrinsic :: iso_c_binding, only: c_loc, c_signed_char
  use recorder, only: message
  implicit none
  integer(c_signed_char), target :: buf(*)
  integer :: count, datatype, source, tag, comm, ierror
  integer, target :: request
  external :: PMPI_Irecv

  call message('R', c_loc(buf), count, datatype, source, tag, c_loc(request))
  call PMPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
end subroutine MPI_Irecv

subroutine MPI_Send_init(buf, count, datatype, dest, tag, comm, request, ierror)
  use, intrinsic :: iso_c_binding, only: c_loc, c_signed_char
  use recorder, only: remember
  implicit none
  integer(c_signed_char), target :: buf(*)
  integer :: count, datatype, dest, tag, comm, request, ierror
  external :: PMPI_Send_init

  call PMPI_Send_init(buf, count, datatype, dest, tag, comm, request, ierror)
  call remember('S', c_loc(buf), count, datatype, dest, tag, request)
end subroutine MPI_Send_init

subroutine MPI_Recv_init(buf, count, datatype, source, tag, comm, request, ierror)
  use, intrinsic :: iso_c_binding, only: c_loc, c_signed_char
  use recorder, only: remember
  implicit none
  integer(c_signed_char), target :: buf(*)
  integer :: count, datatype, source, tag, comm, request, ierror
  external :: PMPI_Recv_init

  call PMPI_Recv_init(buf, count, datatype, source, tag, comm, request, ierror)
  call remember('R', c_loc(buf), count, datatype, source, tag, request)
end subroutine MPI_Recv_init

subroutine MPI_Start(request, ierror)
  use recorder, only: started
  implicit none
  integer, target :: request
  integer :: ierror
  external :: PMPI_Start

  call started(request)
  call PMPI_Start(request, ierror)
end subroutine MPI_Start

subroutine MPI_Request_free(request, ierror)
  use recorder, only: forget
  implicit none
  integer :: request, ierror
  external :: PMPI_Request_free

  call forget(request)
  call PMPI_Request_free(request, ierror)
end subroutine MPI_Request_free

subroutine MPI_Waitall(count, requests, statuses, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use recorder, only: address, record
  implicit none
  integer :: count, ierror
  integer, target :: requests(*)
  integer :: statuses(*)
  external :: PMPI_Waitall

  call record('W', [address(c_loc(requests)), int(count, c_intptr_t)])
  call PMPI_Waitall(count, requests, statuses, ierror)
end subroutine MPI_Waitall
