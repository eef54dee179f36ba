! What carries the pieces of an exchange in tiles: persistent communication requests (MPI-4.0
! section 3.9), kept from one exchange to the next.
!
! For the other modules of the runtime
!   persistent      the backend
!   kept_requests   how many requests are kept now
!
! Nothing in this module is for transformed code.  Behind it stands
!   asphalt_by_persistent   offers this backend
!
! The messages of a site on a communicator are kept in the order in which they are started, one list
! for each direction.  One that has the address, length, data type and rank that the kept one in its
! place has is started again; for another one a new request is made, and kept instead.  So an
! exchange with other sizes, another K or other arrays only costs what making its requests takes.
!
! Nothing is kept
!   for buffers that are not proved to live as long as the program (`lasting`);
!   for data types that may be freed, and their handles be used again for others;
!   while the exchange of the same site and communicator is going on (recursion, two objects);
!   with MPI_THREAD_MULTIPLE, as the table is shared;
!   where the table is full, or MPI calls the callbacks of attributes wrongly (SMPI 3.32).
! Then a message is started anew.  The other side sees no difference.
!
! Kept requests are freed with the communicator of the program, which has a number as an attribute
! (MPI-4.0 section 7.7): another one with the same handle has another number.  The messages travel
! on its private duplicate: MPICH calls no callback of a communicator that has requests.  What is
! left is freed with MPI_COMM_SELF, at the beginning of MPI_FINALIZE (section 11.2.4).
!
! A request holds an address, and the call that starts it has no buffer.  What the four points are
! called from has: see asphalt_exchange.
module asphalt_backend_persistent
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use asphalt_core, only: asphalt_byte, keep_first
  use asphalt_backend_isend, only: backend_t
  use asphalt_datatypes, only: free_kept, is_lasting
  use asphalt_persistent, only: may_keep, MPI_Recv_init, MPI_Send_init, number_of, numbering
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMM_NULL, MPI_COMM_SELF, &
                 MPI_REQUEST_NULL, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: persistent, kept_requests

  !> The most sites on communicators, and the most requests of all of them.
  integer, parameter :: most_sites = 64, most_requests = 8192

  !> A message that is kept, and what it is asked for with.
  type :: message
    integer(c_intptr_t) :: address = 0
    integer :: count = 0, datatype = 0, peer = 0, tag = 0
    integer :: request = MPI_REQUEST_NULL
  end type message

  !> The messages of one direction, in the order in which they are started; so many are used.
  type :: message_list
    type(message), allocatable :: messages(:)
    integer :: used = 0
  end type message_list

  !> What is kept of a site on a communicator.
  type :: kept_site
    !> The number of the communicator; 0: this place of the table is free.
    integer(MPI_ADDRESS_KIND) :: number = 0
    character(:), allocatable :: site
    !> Whether its exchange is going on; whether its communicator was freed meanwhile.
    logical :: active = .false., orphaned = .false.
    type(message_list) :: sends, receives
  end type kept_site

  !> The backend.  `place`: in the table; 0: messages are started anew.
  type, extends(backend_t) :: persistent
    logical :: opened = .false.
    integer :: place = 0
    !> Messages that were started, in either direction.
    integer :: sent = 0, received = 0
  contains
    procedure :: open => may_last
    procedure :: destination_ready => receive_again
    procedure :: source_ready => send_again
    procedure :: destination_needed => complete_again
    procedure :: source_volatile => complete_again
    procedure :: leave => leave_kept
  end type persistent

  type(kept_site), save :: table(most_sites)
  !> Requests that are kept.
  integer, save :: kept_requests = 0
  type(numbering), save :: communicators

contains

  !> Whether messages are kept, which needs buffers that last, and a private communicator.
  subroutine may_last(b)
    class(persistent), intent(inout) :: b

    b%number = 2
    b%apart = b%lasting
    if (b%lasting) b%keeps = may_keep()
  end subroutine may_last

  !> Starts a receive, as the kept one in its place if it can.
  subroutine receive_again(b, buf, count, datatype, source, slot)
    class(persistent), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, source, slot
    integer :: kept

    call find_place(b)
    kept = MPI_REQUEST_NULL
    b%received = b%received + 1
    if (b%place > 0) &
      call recall_message(table(b%place)%receives, b%received, .false., buf, count, datatype, &
                          source, b%tag, b%comm, kept, b%error)
    call start(b, kept, slot)
    if (kept == MPI_REQUEST_NULL) &
      call b%backend_t%destination_ready(buf, count, datatype, source, slot)
  end subroutine receive_again

  !> Starts a send in the same way.
  subroutine send_again(b, buf, count, datatype, dest, slot)
    class(persistent), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, dest, slot
    integer :: kept

    call find_place(b)
    kept = MPI_REQUEST_NULL
    b%sent = b%sent + 1
    if (b%place > 0) &
      call recall_message(table(b%place)%sends, b%sent, .true., buf, count, datatype, dest, &
                          b%tag, b%comm, kept, b%error)
    call start(b, kept, slot)
    if (kept == MPI_REQUEST_NULL) call b%backend_t%source_ready(buf, count, datatype, dest, slot)
  end subroutine send_again

  !> Starts a kept request in a slot, if there is one.
  subroutine start(b, kept, slot)
    class(persistent), intent(inout) :: b
    integer, intent(in) :: kept, slot
    integer :: error

    if (kept == MPI_REQUEST_NULL) return
    b%requests(slot) = kept
    call MPI_Start(b%requests(slot), error)
    call keep_first(error, b%error)
    if (error /= MPI_SUCCESS) b%requests(slot) = MPI_REQUEST_NULL
  end subroutine start

  !> Completes messages.  MPI keeps persistent requests, so that the slots are emptied here.
  subroutine complete_again(b, slot, count)
    class(persistent), intent(inout) :: b
    integer, intent(in) :: slot, count

    call b%backend_t%source_volatile(slot, count)
    b%requests(slot+1:slot+count) = MPI_REQUEST_NULL
  end subroutine complete_again

  !> The exchange is over: another one may start the requests.
  subroutine leave_kept(b)
    class(persistent), intent(inout) :: b

    if (b%place > 0) then
      table(b%place)%active = .false.
      if (table(b%place)%orphaned) call free_site(table(b%place))
    end if
    b%place = 0
    call b%backend_t%leave()
  end subroutine leave_kept

  !> Finds the place of the site in the table, at the first message of an exchange.
  subroutine find_place(b)
    class(persistent), intent(inout) :: b
    integer(MPI_ADDRESS_KIND) :: number
    integer :: place

    if (b%opened) return
    b%opened = .true.
    if (.not. b%keeps) return
    if (b%owner == MPI_COMM_SELF) return
    call number_of(b%owner, communicators, free_sites, number)
    if (number == 0) return
    do place = 1, most_sites
      if (table(place)%number /= number) cycle
      if (table(place)%site /= b%site) cycle
      if (table(place)%active) return
      exit
    end do
    if (place > most_sites) then
      do place = 1, most_sites
        if (table(place)%number == 0) exit
      end do
      if (place > most_sites) return
      table(place)%number = number
      table(place)%site = b%site
    end if
    table(place)%active = .true.
    b%place = place
  end subroutine find_place

  !> The kept request for a message that is the n-th one of an exchange; none: start it anew.
  subroutine recall_message(list, n, sending, buf, count, datatype, peer, tag, comm, request, &
                            ierror)
    type(message_list), intent(inout) :: list
    integer, intent(in) :: n, count, datatype, peer, tag, comm
    logical, intent(in) :: sending
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(out) :: request
    integer, intent(inout) :: ierror
    integer(c_intptr_t) :: address
    integer :: error

    request = MPI_REQUEST_NULL
    if (n > list%used + 1) return  ! those between were started anew
    address = transfer(c_loc(buf), address)
    if (n <= list%used) then
      associate (old => list%messages(n))
        if (old%address == address .and. old%count == count .and. old%datatype == datatype &
            .and. old%peer == peer .and. old%tag == tag) request = old%request
        if (request /= MPI_REQUEST_NULL) return
      end associate
    end if
    if (.not. is_lasting(datatype)) return
    if (n > list%used) then
      if (kept_requests == most_requests) return
      call make_room(list)
    else
      call free_request(list%messages(n)%request)
    end if
    list%messages(n) = message(address, count, datatype, peer, tag)
    if (sending) then
      call MPI_Send_init(buf, count, datatype, peer, tag, comm, request, error)
    else
      call MPI_Recv_init(buf, count, datatype, peer, tag, comm, request, error)
    end if
    call keep_first(error, ierror)
    if (error /= MPI_SUCCESS) request = MPI_REQUEST_NULL
    if (request /= MPI_REQUEST_NULL) kept_requests = kept_requests + 1
    list%messages(n)%request = request
  end subroutine recall_message

  !> Adds an element to a list.
  subroutine make_room(list)
    type(message_list), intent(inout) :: list
    type(message), allocatable :: longer(:)

    if (.not. allocated(list%messages)) allocate(list%messages(8))
    if (list%used == size(list%messages)) then
      allocate(longer(2 * list%used))
      longer(:list%used) = list%messages
      call move_alloc(longer, list%messages)
    end if
    list%used = list%used + 1
  end subroutine make_room

  !> Frees a request that is kept.
  subroutine free_request(request)
    integer, intent(inout) :: request
    integer :: error

    if (request == MPI_REQUEST_NULL) return
    call MPI_Request_free(request, error)
    request = MPI_REQUEST_NULL
    kept_requests = kept_requests - 1
  end subroutine free_request

  !> Frees what is kept of a site.
  subroutine free_site(site)
    type(kept_site), intent(inout) :: site
    integer :: n

    do n = 1, site%sends%used
      call free_request(site%sends%messages(n)%request)
    end do
    do n = 1, site%receives%used
      call free_request(site%receives%messages(n)%request)
    end do
    if (allocated(site%sends%messages)) deallocate(site%sends%messages)
    if (allocated(site%receives%messages)) deallocate(site%receives%messages)
    site%sends%used = 0
    site%receives%used = 0
    site%number = 0
    site%orphaned = .false.
  end subroutine free_site

  !> Called by MPI when a communicator that has a number is freed: frees what is kept of it, or what
  !! its exchange has not completed yet when that is over.  MPI_COMM_SELF: everything.
  subroutine free_sites(comm, key, attribute, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, state
    integer :: place

    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL .or. key /= communicators%key .or. state /= 0) return
    do place = 1, most_sites
      if (table(place)%number == 0) cycle
      if (attribute > 0 .and. table(place)%number /= attribute) cycle
      table(place)%orphaned = table(place)%active
      if (.not. table(place)%active) call free_site(table(place))
    end do
    if (attribute == 0) call free_kept()
  end subroutine free_sites
end module asphalt_backend_persistent

!> Offers messages that are kept.
subroutine asphalt_by_persistent(offered)
  use asphalt_backend_isend, only: offer_t
  use asphalt_backend_persistent, only: persistent
  implicit none
  type(offer_t), intent(inout) :: offered

  allocate(persistent :: offered%backend)
end subroutine asphalt_by_persistent
