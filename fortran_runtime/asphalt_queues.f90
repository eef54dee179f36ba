! Receives that are posted earlier than their buffers are free, and sends that leave earlier than
! their receivers are ready: messages on copies.
!
! For transformed code
!   asphalt_post    posts a receive into a copy (MPI-4.0 section 3.7.2), as the last one of a queue
!   asphalt_take    waits for the first message of a queue, and puts it into the buffer
!   asphalt_queue   the type of a queue
!   asphalt_send    a standard send from a copy, which returns whatever the receiver does
!                   (section 3.4)
!
! All copies together have at most as many mebibytes as a call says.  Messages that still leave when
! the program calls MPI_FINALIZE are waited for there (section 11.2.4).
!
! For the other modules of the runtime
!   oldest, taken   both halves of asphalt_take, between which MPI waits
module asphalt_queues
  use, intrinsic :: iso_c_binding, only: c_ptr, c_size_t
  use asphalt_core, only: asphalt_sync, int64, is_dense, is_smpi, memcpy, MPI_Irecv, MPI_Isend
  use asphalt_copies, only: find_room, give_back, message, usual_mebibytes
  use mpi, only: MPI_ADDRESS_KIND, MPI_ANY_TAG, MPI_COMM_NULL, MPI_COMM_NULL_COPY_FN, &
                 MPI_COMM_SELF, MPI_ERROR, MPI_PROC_NULL, MPI_REQUEST_NULL, MPI_SOURCE, &
                 MPI_STATUS_IGNORE, MPI_STATUS_SIZE, MPI_SUCCESS, MPI_TAG
  implicit none
  private
  public :: asphalt_post, asphalt_take, asphalt_queue, asphalt_send
  ! for the other modules of the runtime
  public :: oldest, taken

  !> Messages on their way, those that will be used first at the beginning; from `waiting` on, no
  !! receive is started yet.
  type :: asphalt_queue
    private
    type(message), pointer :: first => null(), last => null(), waiting => null()
    integer :: mebibytes
  end type asphalt_queue

  !> Messages that leave from copies, the oldest one first, and how many there may be.
  type(message), pointer :: leaving => null(), last_leaving => null()
  integer, parameter :: most_leaving = 16
  integer :: now_leaving = 0

  !> The key under which MPI_COMM_SELF sees to it that MPI_Finalize waits for them.
  integer :: finalize_key
  logical :: finalize_waits = .false.

contains

  !> MPI_Irecv into a copy of a buffer that `asphalt_take` will name; the first message that is
  !! posted is the first to be taken.
  !!
  !! All copies together have at most `mebibytes`: the receive of a message that finds no room is
  !! started when others have been taken, at the latest when it is to be taken itself.  Receives of
  !! a queue are started in their order.
  subroutine asphalt_post(queue, count, datatype, source, tag, comm, mebibytes)
    type(asphalt_queue), intent(inout) :: queue
    integer, intent(in) :: count, datatype, source, tag, comm
    integer, intent(in), optional :: mebibytes
    type(message), pointer :: new
    logical :: dense
    integer :: error

    queue%mebibytes = usual_mebibytes
    if (present(mebibytes)) queue%mebibytes = mebibytes
    allocate (new)
    new%count = count
    new%datatype = datatype
    new%source = source
    new%tag = tag
    new%comm = comm
    dense = .false.
    call MPI_Type_size(datatype, new%bytes, error)
    if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
    if (.not. dense) new%bytes = 0
    if (associated(queue%last)) then
      queue%last%next => new
    else
      queue%first => new
    end if
    queue%last => new
    if (.not. associated(queue%waiting)) queue%waiting => new
    call post_with_room(queue)
  end subroutine asphalt_post

  !> Starts the receives of a queue up to the first one that gets no copy.
  subroutine post_with_room(queue)
    type(asphalt_queue), intent(inout) :: queue
    type(message), pointer :: next
    integer :: error

    do while (associated(queue%waiting))
      next => queue%waiting
      call find_room(next, int(queue%mebibytes, int64) * 1048576_int64)
      if (.not. allocated(next%copy)) return
      call MPI_Irecv(next%copy, next%count, next%datatype, next%source, next%tag, next%comm, &
                     next%request, error)
      next%posted = .true.
      queue%waiting => next%next
    end do
  end subroutine post_with_room

  !> Waits for the first message of a queue and puts what has arrived into `buf`, as MPI_Recv does:
  !! of a message that is shorter than its count, the elements behind it stay as they are, and so
  !! does the error code in `status` (MPI-4.0 section 3.2.5).
  subroutine asphalt_take(queue, buf, status)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(inout), optional :: status(MPI_STATUS_SIZE)
    integer :: found(MPI_STATUS_SIZE), request, datatype, arrived, error
    logical :: from_nobody

    call oldest(queue, buf, request, datatype)
    call MPI_Wait(request, found, error)
    arrived = 0
    if (error == MPI_SUCCESS) call MPI_Get_count(found, datatype, arrived, error)
    call taken(queue, buf, arrived, from_nobody)
    if (from_nobody) then
      found(MPI_SOURCE) = MPI_PROC_NULL
      found(MPI_TAG) = MPI_ANY_TAG
    end if
    if (.not. present(status)) return
    found(MPI_ERROR) = status(MPI_ERROR)
    status = found
  end subroutine asphalt_take

  !> The request to wait for before the first message of a queue is taken, and its data type.  What
  !! has no copy is received into `buf`.
  subroutine oldest(queue, buf, request, datatype)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(out) :: request, datatype
    type(message), pointer :: first
    integer :: error

    first => queue%first
    if (.not. first%posted) then
      queue%waiting => first%next
      call MPI_Irecv(buf, first%count, first%datatype, first%source, first%tag, first%comm, &
                     first%request, error)
    end if
    request = first%request
    datatype = first%datatype
  end subroutine oldest

  !> Takes the first message of a queue, which has `arrived` with so many elements, out of it, and
  !! posts what there is room for now; whether its source is nobody.
  subroutine taken(queue, buf, arrived, from_nobody)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: arrived
    logical, intent(out) :: from_nobody
    type(message), pointer :: first
    type(c_ptr) :: unused

    first => queue%first
    from_nobody = first%source == MPI_PROC_NULL
    if (first%posted) then
      call asphalt_sync(first%copy)
      if (arrived > 0 .and. arrived <= first%count) then
        unused = memcpy(buf, first%copy, int(arrived, c_size_t) * first%bytes)
      end if
    end if
    call asphalt_sync(buf)
    first%request = MPI_REQUEST_NULL
    queue%first => first%next
    if (.not. associated(queue%first)) nullify (queue%last)
    if (allocated(first%copy)) then
      call give_back(first)
    else
      deallocate (first)
    end if
    call post_with_room(queue)
  end subroutine taken

  !> MPI_Send from a copy: returns whatever the receiver does, as a standard send may (MPI-3.1
  !! section 3.4), unless all copies together would have more than `mebibytes`.
  !!
  !! The oldest message is waited for where there are too many, and all of them in MPI_Finalize.
  subroutine asphalt_send(buf, count, datatype, dest, tag, comm, mebibytes)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(in), optional :: mebibytes
    type(message), pointer :: new
    type(c_ptr) :: unused
    integer(int64) :: limit
    integer :: ignored(MPI_STATUS_SIZE), error
    logical :: dense, done

    limit = usual_mebibytes
    if (present(mebibytes)) limit = mebibytes
    limit = limit * 1048576_int64
    do while (associated(leaving))  ! those that have left
      call MPI_Test(leaving%request, done, MPI_STATUS_IGNORE, error)
      if (.not. done) exit
      call forget_oldest()
    end do
    allocate (new)
    new%count = count
    dense = .false.
    call MPI_Type_size(datatype, new%bytes, error)
    if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
    if (.not. dense) new%bytes = 0
    do
      call find_room(new, limit)
      if (.not. associated(leaving) .or. new%bytes == 0) exit
      if (allocated(new%copy) .and. now_leaving < most_leaving) exit
      call MPI_Wait(leaving%request, ignored, error)
      call forget_oldest()
    end do
    if (.not. allocated(new%copy)) then
      call MPI_Isend(buf, count, datatype, dest, tag, comm, new%request, error)
      call MPI_Wait(new%request, ignored, error)
      deallocate (new)
      return
    end if
    call wait_in_finalize()
    call asphalt_sync(buf)
    unused = memcpy(new%copy, buf, int(count, c_size_t) * new%bytes)
    call asphalt_sync(new%copy)
    call MPI_Isend(new%copy, count, datatype, dest, tag, comm, new%request, error)
    if (associated(last_leaving)) then
      last_leaving%next => new
    else
      leaving => new
    end if
    last_leaving => new
    now_leaving = now_leaving + 1
  end subroutine asphalt_send

  !> The copy of the oldest message, which has left, is spare.
  subroutine forget_oldest()
    type(message), pointer :: oldest

    oldest => leaving
    leaving => oldest%next
    if (.not. associated(leaving)) nullify (last_leaving)
    call give_back(oldest)
    now_leaving = now_leaving - 1
  end subroutine forget_oldest

  !> Makes MPI_Finalize wait for the messages that leave from copies: it first deletes what
  !! MPI_COMM_SELF carries (MPI-3.1 section 8.7.1).
  !!
  !! One thread at a time: to set an attribute again would delete the one of another thread, and
  !! wait at once.
  subroutine wait_in_finalize()
    integer :: error

    !$omp critical (asphalt_key_of_finalize)
    if (.not. finalize_waits) then
      finalize_waits = .true.
      if (.not. is_smpi()) then
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_for_leaving, finalize_key, &
                                    0_MPI_ADDRESS_KIND, error)
      else
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_for_all, finalize_key, &
                                    0_MPI_ADDRESS_KIND, error)
      end if
      if (error == MPI_SUCCESS) call MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, &
                                                       0_MPI_ADDRESS_KIND, error)
    end if
    !$omp end critical (asphalt_key_of_finalize)
  end subroutine wait_in_finalize

  !> Called by MPI_Finalize.
  subroutine wait_for_leaving(comm, key, attribute, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, state

    ierror = MPI_SUCCESS
    if (key /= finalize_key .or. attribute /= state) return
    ! not MPI_COMM_SELF under Open MPI 4.1, which passes no communicator that Fortran knows
    if (comm /= MPI_COMM_NULL) ierror = wait_for_all()
  end subroutine wait_for_leaving

  !> The same for an MPI that calls it as a C function.
  integer function wait_for_all()
    integer :: ignored(MPI_STATUS_SIZE), error

    do while (associated(leaving))
      call MPI_Wait(leaving%request, ignored, error)
      call forget_oldest()
    end do
    wait_for_all = MPI_SUCCESS
  end function wait_for_all
end module asphalt_queues
