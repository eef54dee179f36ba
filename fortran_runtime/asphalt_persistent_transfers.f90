! Messages between two ranks that are kept: persistent communication requests (MPI-4.0 section 3.9),
! started again by the next message that is the same.
!
! For transformed code
!   asphalt_persistent_isend, asphalt_persistent_irecv   start a message, as asphalt_isend and
!                               asphalt_irecv do; asphalt_wait completes it
!
! For the other modules of the runtime
!   kept_transfers   how many requests are kept now
!
! A message is the same if its buffer, length, data type, rank, tag and communicator are.  The other
! side sees no difference.  Nothing is kept
!   for data types that may be freed, and their handles be used again for others;
!   for nobody (MPI_PROC_NULL), and for messages of a rank to itself on MPI_COMM_SELF;
!   while the same message is in progress;
!   where the messages from one place to one rank changed more often than they stayed the same;
!   where that is slower: under MPICH 4.0, and for sends of at most 256 bytes under Open MPI 4.1,
!   which has a shorter way for them;
!   with MPI_THREAD_MULTIPLE, as the table is shared; where the table is full; under SMPI.
! Then a message is started anew.
!
! Buffers have to live as long as the program: transformed code calls these procedures for no
! others.  A communicator has an attribute (section 7.7) with which its requests are freed.  MPICH
! calls the callback of an attribute when nothing refers to the communicator any more, and a request
! does: transformed programs that free communicators do not call these procedures.  What is left is
! freed with MPI_COMM_SELF, at the beginning of MPI_FINALIZE (section 11.2.4).
!
! A request holds an address, and MPI_START has no buffer.  Here each call has it, and passes it to
! MPI before a message leaves, so that the compiler keeps no store back (section 19.1.8).
module asphalt_persistent_transfers
  use asphalt_core, only: asphalt_irecv, asphalt_isend, keep_first, MPI_Get_address
  use asphalt_datatypes, only: is_lasting
  use asphalt_persistent, only: is_open_mpi, may_keep, MPI_Recv_init, MPI_Send_init, &
                                number_of, numbering
  use asphalt_transfers, only: on_completion
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMM_NULL, MPI_COMM_SELF, MPI_DATATYPE_NULL, &
                 MPI_PROC_NULL, MPI_REQUEST_NULL, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_persistent_isend, asphalt_persistent_irecv
  ! for the other modules of the runtime
  public :: kept_transfers

  !> The most requests that are kept.
  integer, parameter :: most_kept = 256

  !> The bytes of a send that is too short to gain.
  integer, parameter :: short = 256

  !> A message that is kept.  `same`, `changed`: how often it was started again, and made anew.
  type :: kept_message
    integer(MPI_ADDRESS_KIND) :: address = 0
    integer :: peer = 0, tag = 0, comm = MPI_COMM_NULL, count = 0, datatype = 0
    logical :: sending = .false.
    integer :: request = MPI_REQUEST_NULL
    !> Whether it is in progress; whether its communicator was freed meanwhile.
    logical :: active = .false., orphaned = .false.
    !> The number of its communicator.
    integer(MPI_ADDRESS_KIND) :: number = 0
    integer :: same = 0, changed = 0
  end type kept_message

  !> The messages, in the order in which they were first started: the one after the last is likely
  !! to be the next.  Places without a request are free.
  type(kept_message), save :: table(most_kept)
  integer, save :: used = 0, last_started = 0, last_completed = 0
  integer, save :: kept_transfers = 0
  type(numbering), save :: communicators

contains

  !> `asphalt_isend` with a request that is kept.
  subroutine asphalt_persistent_isend(buf, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous, target :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer(MPI_ADDRESS_KIND) :: address
    integer :: place, error

    place = 0
    if (gains(.true., count, datatype)) then
      call MPI_Get_address(buf, address, error)
      call find_place(.true., address, count, datatype, dest, tag, comm, place)
    end if
    if (place == 0) then
      call asphalt_isend(buf, count, datatype, dest, tag, comm, request, ierror)
      return
    end if
    if (table(place)%request == MPI_REQUEST_NULL) then
      call MPI_Send_init(buf, count, datatype, dest, tag, comm, request, error)
      call keep(place, request, error, ierror)
    end if
    call start(place, request, ierror)
  end subroutine asphalt_persistent_isend

  !> `asphalt_irecv` with a request that is kept.
  subroutine asphalt_persistent_irecv(buf, count, datatype, source, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous, target :: buf
    integer, intent(in) :: count, datatype, source, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer(MPI_ADDRESS_KIND) :: address
    integer :: place, error

    place = 0
    if (gains(.false., count, datatype)) then
      call MPI_Get_address(buf, address, error)
      call find_place(.false., address, count, datatype, source, tag, comm, place)
    end if
    if (place == 0) then
      call asphalt_irecv(buf, count, datatype, source, tag, comm, request, ierror)
      return
    end if
    if (table(place)%request == MPI_REQUEST_NULL) then
      call MPI_Recv_init(buf, count, datatype, source, tag, comm, request, error)
      call keep(place, request, error, ierror)
    end if
    call start(place, request, ierror)
  end subroutine asphalt_persistent_irecv

  !> Whether a message that is kept is at least as fast as one that is started anew.
  logical function gains(sending, count, datatype)
    logical, intent(in) :: sending
    integer, intent(in) :: count, datatype
    logical, save :: asked = .false., answer = .false.
    integer, save :: measured = MPI_DATATYPE_NULL, bytes = 0
    integer :: error

    if (.not. asked) then
      answer = may_keep()
      if (answer) answer = is_open_mpi()
      asked = .true.
    end if
    gains = answer
    if (.not. (gains .and. sending)) return
    if (datatype /= measured) then
      call MPI_Type_size(datatype, bytes, error)
      measured = datatype
      if (error /= MPI_SUCCESS) measured = MPI_DATATYPE_NULL
    end if
    gains = bytes > 0 .and. count > short / max(bytes, 1)
  end function gains

  !> The place of a message in the table; without a request if that is to be made.  0: start it anew.
  subroutine find_place(sending, address, count, datatype, peer, tag, comm, place)
    logical, intent(in) :: sending
    integer(MPI_ADDRESS_KIND), intent(in) :: address
    integer, intent(in) :: count, datatype, peer, tag, comm
    integer, intent(out) :: place

    place = 0
    if (peer == MPI_PROC_NULL .or. comm == MPI_COMM_SELF) return
    place = last_started + 1
    if (place > used) place = 1
    if (.not. has(place)) then
      do place = 1, used
        if (has(place)) exit
      end do
    end if
    if (place > used) then
      call make_place()
      return
    end if
    last_started = place
    associate (old => table(place))
      if (old%active) then
        place = 0
      else if (old%count == count .and. old%datatype == datatype) then
        old%same = min(old%same, huge(old%same) - 1) + 1
      else if (old%changed > old%same) then
        place = 0
      else if (.not. is_lasting(datatype)) then
        place = 0
      else
        call free_request(old)
        old%changed = old%changed + 1
        old%count = count
        old%datatype = datatype
      end if
    end associate

  contains

    !> Whether a message has this place and this partner.
    logical function has(n)
      integer, intent(in) :: n

      has = n <= used
      if (has) has = table(n)%address == address .and. table(n)%peer == peer .and. &
                     table(n)%tag == tag .and. table(n)%comm == comm .and. &
                     (table(n)%sending .eqv. sending)
    end function has

    !> A place for a new message.
    subroutine make_place()
      integer(MPI_ADDRESS_KIND) :: number

      place = 0
      if (.not. is_lasting(datatype)) return
      do place = 1, used
        if (table(place)%request == MPI_REQUEST_NULL) exit
      end do
      if (place > most_kept) then
        place = 0
        return
      end if
      call number_of(comm, communicators, free_transfers, number)
      if (number == 0) then
        place = 0
        return
      end if
      used = max(used, place)
      last_started = place
      table(place) = kept_message(address, peer, tag, comm, count, datatype, sending)
      table(place)%number = number
      on_completion => completed
    end subroutine make_place
  end subroutine find_place

  !> Keeps a request that was made; if it was not, the place is free again.
  subroutine keep(place, request, error, ierror)
    integer, intent(in) :: place, request, error
    integer, intent(inout), optional :: ierror

    call keep_first(error, ierror)
    if (error == MPI_SUCCESS) then
      table(place)%request = request
      kept_transfers = kept_transfers + 1
    else
      table(place) = kept_message()
    end if
  end subroutine keep

  !> Starts the request of a place; none where there is none.
  subroutine start(place, request, ierror)
    integer, intent(in) :: place
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer :: error

    request = table(place)%request
    if (request == MPI_REQUEST_NULL) return
    call MPI_Start(request, error)
    call keep_first(error, ierror)
    table(place)%active = error == MPI_SUCCESS
    if (error /= MPI_SUCCESS) request = MPI_REQUEST_NULL
  end subroutine start

  !> Takes note that a request is complete, if it is one of those that are `kept`.
  subroutine completed(request, kept)
    integer, intent(in) :: request
    logical, intent(out) :: kept
    integer :: place

    kept = .false.
    if (request == MPI_REQUEST_NULL) return
    place = last_completed + 1
    if (place > used) place = 1
    if (table(place)%request /= request) then
      do place = 1, used
        if (table(place)%request == request) exit
      end do
      if (place > used) return
    end if
    kept = .true.
    last_completed = place
    table(place)%active = .false.
    if (.not. table(place)%orphaned) return
    call free_request(table(place))
    table(place) = kept_message()
  end subroutine completed

  !> Frees the request of a place.
  subroutine free_request(message)
    type(kept_message), intent(inout) :: message
    integer :: error

    if (message%request == MPI_REQUEST_NULL) return
    call MPI_Request_free(message%request, error)
    message%request = MPI_REQUEST_NULL
    kept_transfers = kept_transfers - 1
  end subroutine free_request

  !> Called by MPI when a communicator is freed: frees its requests, those in progress when they are
  !! complete.  MPI_COMM_SELF: all of them.
  subroutine free_transfers(comm, key, attribute, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, state
    integer :: place

    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL .or. key /= communicators%key .or. state /= 0) return
    do place = 1, used
      if (attribute /= 0 .and. table(place)%number /= attribute) cycle
      if (table(place)%active) then
        table(place)%orphaned = .true.
        table(place)%comm = MPI_COMM_NULL
      else
        call free_request(table(place))
        table(place) = kept_message()
      end if
    end do
  end subroutine free_transfers
end module asphalt_persistent_transfers
