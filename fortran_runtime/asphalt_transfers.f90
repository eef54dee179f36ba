! Transfers between two ranks that became a start and a wait.
!
! For transformed code
!   asphalt_wait                waits for a transfer (MPI-4.0 section 3.7.3).  The buffer is an
!                               argument, so that the compiler moves no access to it across the wait
!                               (section 19.1.8)
!   asphalt_wait_all            waits for several transfers (section 3.7.5), with their buffers
!   asphalt_issend              a synchronous send (section 3.7.2), as asphalt_isend is one
!   asphalt_isendrecv_replace   MPI_ISENDRECV_REPLACE (section 3.10), which MPI 3 does not have
!
! The other starts, `asphalt_isend` and `asphalt_irecv`, are those of asphalt_core.
!
! For the other modules of the runtime
!   waited         what is left to do when MPI has waited itself
!   on_completion  told of the request of each transfer that is complete, if there is such a procedure
module asphalt_transfers
  use, intrinsic :: iso_c_binding, only: c_ptr, c_size_t
  use asphalt_core, only: asphalt_irecv, asphalt_sync, int64, is_dense, keep_first, memcpy, &
                          MPI_Isend
  use asphalt_copies, only: copied, find_room, give_back, message, usual_mebibytes
  use mpi, only: MPI_ERROR, MPI_PACKED, MPI_PROC_NULL, MPI_REQUEST_NULL, MPI_SOURCE, &
                 MPI_STATUS_SIZE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_wait, asphalt_wait_all, asphalt_issend, asphalt_isendrecv_replace
  ! for the other modules of the runtime
  public :: waited, on_completion, completion_handler

  !> Messages that leave from copies of buffers into which others come.
  type(message), pointer :: replaced => null()

  abstract interface
    !> What is told of requests that are complete, and says whether it has `kept` them.
    subroutine completion_handler(request, kept)
      implicit none
      integer, intent(in) :: request
      logical, intent(out) :: kept
    end subroutine completion_handler
  end interface

  procedure(completion_handler), pointer :: on_completion => null()

  ! buffers of any type and rank: see asphalt_core
  interface
    subroutine MPI_Issend(buf, count, datatype, dest, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, dest, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Issend

    subroutine MPI_Pack(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: inbuf, outbuf
      !DIR$ ignore_tkr inbuf, outbuf
      integer, dimension(*) :: inbuf, outbuf
      integer, intent(in) :: incount, datatype, outsize, comm
      integer, intent(inout) :: position
      integer, intent(out) :: ierror
    end subroutine MPI_Pack
  end interface

contains

  !> MPI_Issend with an explicit interface.
  subroutine asphalt_issend(buf, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer :: error

    call MPI_Issend(buf, count, datatype, dest, tag, comm, request, error)
    call keep_first(error, ierror)
  end subroutine asphalt_issend

  !> MPI_Wait for a transfer from or to `buf`, which the caller may access again afterwards.
  !!
  !! That `buf` is an argument tells the compiler that the call may change it (as MPI_F_sync_reg
  !! does, MPI-4.0 section 19.1.17).  The error code in `status` stays as it is (section 3.2.5).
  subroutine asphalt_wait(request, buf, status)
    integer, intent(inout) :: request
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(inout), optional :: status(MPI_STATUS_SIZE)
    integer :: found(MPI_STATUS_SIZE), started, error
    logical :: from_nobody, kept

    started = request
    call MPI_Wait(request, found, error)
    call waited(started, buf, from_nobody, kept)
    if (kept) request = MPI_REQUEST_NULL
    if (from_nobody) then
      request = MPI_REQUEST_NULL
      call MPI_Wait(request, found, error)  ! an empty status
      found(MPI_SOURCE) = MPI_PROC_NULL
    end if
    if (.not. present(status)) return
    found(MPI_ERROR) = status(MPI_ERROR)
    status = found
  end subroutine asphalt_wait

  !> What MPI_Waitall does, for transfers from or to the buffers `b1` to `b12`, which the caller may
  !! access again afterwards.
  !!
  !! Each is waited for by itself.  Where one fails, MPI_Waitall may leave others under way, and the
  !! binding of Open MPI 4.1 does not say which: it returns neither statuses nor handles.
  subroutine asphalt_wait_all(count, requests, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12)
    integer, intent(in) :: count
    integer, intent(inout) :: requests(count)
    !GCC$ attributes no_arg_check :: b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12
    !DIR$ ignore_tkr b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12
    integer, dimension(*), asynchronous :: b1
    integer, dimension(*), asynchronous, optional :: b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12
    integer :: n

    do n = 1, count
      call asphalt_wait(requests(n), b1)
    end do
    if (present(b2)) call asphalt_sync(b2)
    if (present(b3)) call asphalt_sync(b3)
    if (present(b4)) call asphalt_sync(b4)
    if (present(b5)) call asphalt_sync(b5)
    if (present(b6)) call asphalt_sync(b6)
    if (present(b7)) call asphalt_sync(b7)
    if (present(b8)) call asphalt_sync(b8)
    if (present(b9)) call asphalt_sync(b9)
    if (present(b10)) call asphalt_sync(b10)
    if (present(b11)) call asphalt_sync(b11)
    if (present(b12)) call asphalt_sync(b12)
  end subroutine asphalt_wait_all

  !> What is left to do when MPI has waited for the request `started`, which is complete; whether
  !! nothing was received because the source is nobody; whether the runtime has kept it, so that it
  !! still has its handle.
  subroutine waited(started, buf, from_nobody, kept)
    integer, intent(in) :: started
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    logical, intent(out) :: from_nobody, kept

    kept = .false.
    from_nobody = started == MPI_REQUEST_NULL
    if (associated(replaced) .and. .not. from_nobody) call finish_replaced(started, from_nobody)
    if (associated(on_completion)) call on_completion(started, kept)
    call asphalt_sync(buf)
  end subroutine waited

  !> MPI_Isendrecv_replace of MPI-4.0 (section 3.10): what is in `buf` leaves from a copy, which
  !! MPI_Sendrecv_replace makes as well, and what comes is received into it.  `request` is that of
  !! the receive; `asphalt_wait` waits for both.  Where nothing comes, it is that of the send:
  !! receives from nobody have no requests of their own, by which their sends could be found.
  !!
  !! It waits for nobody, so that the copy is made however long it is; elements with gaps are
  !! packed.
  subroutine asphalt_isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
                                       request)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, sendtag, source, recvtag, comm
    integer, intent(out) :: request
    type(message), pointer :: new
    type(c_ptr) :: unused
    integer(int64) :: room
    integer :: length, error
    logical :: dense

    nullify (new)
    if (dest /= MPI_PROC_NULL) then
      allocate (new)
      new%count = count
      dense = .false.
      call MPI_Type_size(datatype, new%bytes, error)
      if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
      if (.not. dense) then
        new%count = 1
        call MPI_Pack_size(count, datatype, comm, new%bytes, error)
      end if
      call find_room(new, int(usual_mebibytes, int64) * 1048576_int64)
      if (.not. allocated(new%copy)) then
        room = max(1_int64, int(new%count, int64) * new%bytes)
        allocate (new%copy(room))
        copied = copied + room
      end if
      call asphalt_sync(buf)
      length = 0
      if (dense) then
        unused = memcpy(new%copy, buf, int(count, c_size_t) * new%bytes)
      else
        call MPI_Pack(buf, count, datatype, new%copy, new%bytes, length, comm, error)
      end if
      call asphalt_sync(new%copy)
    end if
    call asphalt_irecv(buf, count, datatype, source, recvtag, comm, request)
    if (.not. associated(new)) return
    if (dense) then
      call MPI_Isend(new%copy, count, datatype, dest, sendtag, comm, new%request, error)
    else
      call MPI_Isend(new%copy, length, MPI_PACKED, dest, sendtag, comm, new%request, error)
    end if
    new%from_nobody = source == MPI_PROC_NULL
    if (new%from_nobody) then
      request = new%request
      new%request = MPI_REQUEST_NULL
    end if
    new%received = request
    new%next => replaced
    replaced => new
  end subroutine asphalt_isendrecv_replace

  !> Waits for what left the buffer of a receive that is complete, if that is one of those above, or
  !! for nothing, where `received` was the request of the send: `from_nobody`, then.  An MPI may
  !! have one request for all sends that are complete at once; any of their copies is free then.
  subroutine finish_replaced(received, from_nobody)
    integer, intent(in) :: received
    logical, intent(out) :: from_nobody
    type(message), pointer :: one, previous
    integer :: ignored(MPI_STATUS_SIZE), error

    from_nobody = .false.
    nullify (previous)
    one => replaced
    do while (associated(one))
      if (one%received == received) exit
      previous => one
      one => one%next
    end do
    if (.not. associated(one)) return
    from_nobody = one%from_nobody
    call MPI_Wait(one%request, ignored, error)
    if (associated(previous)) then
      previous%next => one%next
    else
      replaced => one%next
    end if
    if (copied <= int(usual_mebibytes, int64) * 1048576_int64) then
      call give_back(one)
    else
      copied = copied - size(one%copy, kind=int64)
      deallocate (one)
    end if
  end subroutine finish_replaced
end module asphalt_transfers
