! Collective operations as messages between two ranks, one for each block, so that the work on one
! block, before or behind the operation, overlaps with the messages of the others (MPI-4.0 sections
! 6.4 to 6.8).
!
! For transformed code
!   asphalt_alltoall_blocks, asphalt_gather_blocks and so on   stand for the call, and start it
!   asphalt_await_block     waits for a block; asphalt_next_to_take, asphalt_to_take: in which order
!   asphalt_send_block      sends a block that is filled; asphalt_next_to_send, asphalt_to_send: in
!                           which order
!   asphalt_send_blocks     stands where the call stood, and sends what is left
!   asphalt_finish_blocks   completes what is left
!   asphalt_blocks          the type of an operation on its way
!
! The work behind an operation asks for each block with `asphalt_await_block`; where the work is
! before it, `later` is true, each block is sent with `asphalt_send_block` when it is filled, and
! `asphalt_send_blocks` stands where the call stood.  Where `receives_later` is true, too, the buffer
! for what is received is the caller's until then.
!
! Messages travel on the private duplicate of the communicator.  All sends are started, and nothing
! between the start and `asphalt_finish_blocks` waits for anything but these messages: so each of
! them is received, in whatever order the receives are posted.  Blocks that are so short that their
! messages would cost more than what they hide are left to the non-blocking form of the operation,
! which is decided by what is equal on all ranks; so are intercommunicators.
!
! Of `asphalt_bcast_blocks` and `asphalt_alltoallw_blocks`, what is filled and waited for are planes
! of the buffers, counted from 0 from where these begin, instead of the blocks of ranks.
!
! SMPI 3.32 tells wrong extents of subarrays and of resized types: there, blocks with a derived type
! touch all planes, and a simulation shows no overlap.
module asphalt_decomposition
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr, c_ptr, c_signed_char, c_size_t
  use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_sync, int64, is_smpi, memcpy, &
                          MPI_Get_address
  use asphalt_tags, only: private_messages
  use asphalt_collectives, only: asphalt_iallgather, asphalt_iallgatherv, asphalt_ialltoall, &
                                 asphalt_ialltoallv, asphalt_ibcast, asphalt_igather, &
                                 asphalt_igatherv, asphalt_iscatter, asphalt_iscatterv
  use mpi, only: MPI_ADDRESS_KIND, MPI_BYTE, MPI_COMBINER_NAMED, MPI_REQUEST_NULL, MPI_ROOT, &
                 MPI_STATUS_SIZE, MPI_STATUSES_IGNORE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_blocks
  public :: asphalt_alltoall_blocks, asphalt_alltoallv_blocks, asphalt_alltoallw_blocks
  public :: asphalt_allgather_blocks, asphalt_allgatherv_blocks
  public :: asphalt_gather_blocks, asphalt_gatherv_blocks
  public :: asphalt_scatter_blocks, asphalt_scatterv_blocks
  public :: asphalt_bcast_blocks
  public :: asphalt_next_to_take, asphalt_to_take, asphalt_await_block
  public :: asphalt_next_to_send, asphalt_to_send, asphalt_send_block, asphalt_send_blocks
  public :: asphalt_finish_blocks

  !> Bytes of a block from which on it is worth a message of its own.
  integer(int64), parameter :: least_message = 16384_int64
  !> More planes than a buffer has.
  integer(int64), parameter :: beyond = 2_int64**60
  !> Where the ranks do not know of all blocks how long they are.
  integer(int64), parameter :: not_known = 0_int64
  !> Receives that are posted at first: at least so many, and so many bytes.  More of them share
  !! the link, and the first block comes later; fewer do not hide what it takes to post them.
  integer, parameter :: least_window = 2
  integer(int64), parameter :: bytes_in_window = 131072_int64
  !> Of a broadcast: the most pieces, if there are not more ranks, and how many times as long as its
  !! bytes take once to go over a link it may be on its way as pieces.
  integer, parameter :: most_pieces = 16, longest_way = 2

  !> One buffer: what goes to, or comes from, each rank.
  type :: divided
    integer(MPI_ADDRESS_KIND) :: address = 0
    integer, allocatable :: counts(:), datatypes(:), requests(:)
    !> In bytes.
    integer(MPI_ADDRESS_KIND), allocatable :: displs(:)
    !> Whether the message is still to be started.
    logical, allocatable :: left(:)
    !> Where blocks are known by the planes of the buffer: the first and the last one that the block
    !! of a rank touches, and how many of these are still to be filled.
    integer(int64), allocatable :: first(:), last(:), missing(:)
  end type divided

  !> Operations that may start later.
  integer, parameter :: alltoall = 1, scatter = 2, scatterv = 3, bcast = 4, alltoallw = 5

  !> A broadcast in pieces: from whom a rank gets them, or -1, and to whom it sends them on.
  type :: broadcast
    integer :: parent = -1
    integer, allocatable :: children(:)
    !> All elements, those of a piece (of the last one at most), those of a plane of the buffer.
    integer(int64) :: elements = 0, piece = 1, plane = 1
    integer :: pieces = 0
    !> The pieces that are complete here, and have been sent on.
    integer :: complete = 0
    integer :: posted = 0
  end type broadcast

  !> A collective operation on its way.
  type :: asphalt_blocks
    private
    integer :: comm = 0, tag = 0, me = 0, np = 1
    !> The rank that receives or sends all, or -1.
    integer :: root = -1
    type(divided) :: out, in
    !> How many receives may be under way at once.
    integer :: window = least_window
    !> Whether it is one operation; its request, and the arguments where it is to start later.
    logical :: whole = .true.
    !> Whether nothing may be received yet.
    logical :: late = .false.
    integer :: request = MPI_REQUEST_NULL
    integer :: operation = 0, sendcount = 0, sendtype = 0, recvcount = 0, recvtype = 0
    integer :: users_comm = 0
    integer, allocatable :: sendcounts(:), sdispls(:), sendtypes(:)
    integer, allocatable :: recvcounts(:), rdispls(:), recvtypes(:)
    !> Of a loop over blocks: whether there is one, and its iteration.
    logical :: is_in_turns = .false.
    integer :: turn = 0
    !> Of a broadcast that is no one operation.
    logical :: spreads = .false.
    type(broadcast) :: cast
  end type asphalt_blocks

  interface
    subroutine MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
                             rdispls, recvtypes, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: comm
      integer, intent(in), dimension(*) :: sendcounts, sdispls, sendtypes, recvcounts, rdispls, &
                                           recvtypes
      integer, intent(out) :: ierror
    end subroutine MPI_Alltoallw
  end interface

contains

  !> MPI_Alltoall.
  subroutine asphalt_alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                     comm, blocks, later, receives_later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later, receives_later

    call open_blocks(blocks, comm, -1, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call keep(blocks, alltoall, sendcount, sendtype, recvcount, recvtype, comm)
    else
      call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                  one_by_one(sendcount, blocks%np))
      call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                  one_by_one(recvcount, blocks%np))
    end if
    if (present(receives_later)) blocks%late = receives_later
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_alltoall_blocks

  !> MPI_Alltoallv.
  subroutine asphalt_alltoallv_blocks(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                                      rdispls, recvtype, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: np

    call open_blocks(blocks, comm, -1, not_known)
    if (blocks%whole) then
      call asphalt_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                              rdispls, recvtype, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide(blocks%out, sendbuf, sendtype, sendcounts(:np), wide(sdispls(:np)))
    call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(rdispls(:np)))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_alltoallv_blocks

  !> MPI_Alltoallw.  Its blocks may lie anywhere and have gaps: which planes of a buffer they touch
  !! is found out here.  `sendplane`, `recvplane`: the sizes of the dimensions of a plane, whose
  !! product may be no default integer; `sendbits`, `recvbits`: the bits of an element; all 0 where
  !! no loop works on the planes of the buffer.
  !!
  !! A block is sent when all planes are filled that it touches, and a plane is there when all
  !! blocks are that touch it.  Of an empty block the type is not looked at.
  subroutine asphalt_alltoallw_blocks(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
                                      recvcounts, rdispls, recvtypes, comm, sendplane, sendbits, &
                                      recvplane, recvbits, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf, sendtypes, recvtypes
    !DIR$ ignore_tkr sendbuf, recvbuf, sendtypes, recvtypes
    integer, dimension(*), asynchronous :: sendbuf, recvbuf, sendtypes, recvtypes
    integer, intent(in) :: comm, sendplane(:), sendbits, recvplane(:), recvbits
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    integer :: np

    call open_blocks(blocks, comm, -1, not_known)
    np = blocks%np
    if (blocks%whole) then
      call keep(blocks, alltoallw, 0, 0, 0, 0, comm)
      allocate (blocks%sendcounts(np), source=sendcounts(:np))
      allocate (blocks%sdispls(np), source=sdispls(:np))
      allocate (blocks%sendtypes(np), source=handles(sendtypes, np))
      allocate (blocks%recvcounts(np), source=recvcounts(:np))
      allocate (blocks%rdispls(np), source=rdispls(:np))
      allocate (blocks%recvtypes(np), source=handles(recvtypes, np))
    else
      call divide_by_types(blocks%out, sendbuf, handles(sendtypes, np), sendcounts(:np), &
                           sdispls(:np), sendbits / 8 * elements(sendplane))
      call divide_by_types(blocks%in, recvbuf, handles(recvtypes, np), recvcounts(:np), &
                           rdispls(:np), recvbits / 8 * elements(recvplane))
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_alltoallw_blocks

  !> The elements of an array, by the sizes of its dimensions.
  pure integer(int64) function elements(sizes)
    integer, intent(in) :: sizes(:)

    elements = product(int(max(sizes, 0), int64))
  end function elements

  !> An array of handles as integers, which those of type(MPI_Datatype) are, too.
  function handles(types, np)
    !GCC$ attributes no_arg_check :: types
    !DIR$ ignore_tkr types
    integer, dimension(*), asynchronous :: types
    integer, intent(in) :: np
    integer :: handles(np)
    integer(MPI_ADDRESS_KIND) :: address
    integer, pointer :: found(:)
    integer :: error

    call MPI_Get_address(types, address, error)
    call c_f_pointer(transfer(address, c_null_ptr), found, [np])
    handles = found
  end function handles

  !> MPI_Allgather.
  subroutine asphalt_allgather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                      comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    type(asphalt_blocks), intent(inout) :: blocks

    call open_blocks(blocks, comm, -1, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call asphalt_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                              blocks%request)
      return
    end if
    call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                at_once(blocks%np))
    call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                one_by_one(recvcount, blocks%np))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_allgather_blocks

  !> MPI_Allgatherv.
  subroutine asphalt_allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                       recvtype, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64) :: bytes
    integer :: np, error

    call MPI_Comm_size(comm, np, error)
    bytes = max(1_int64, bytes_of(1, recvtype) * sum(int(recvcounts(:np), int64)) / np)
    call open_blocks(blocks, comm, -1, bytes)
    if (blocks%whole) then
      call asphalt_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                               recvtype, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, np), at_once(np))
    call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(displs(:np)))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_allgatherv_blocks

  !> MPI_Gather.
  subroutine asphalt_gather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                   root, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    type(asphalt_blocks), intent(inout) :: blocks

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call asphalt_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
                           blocks%request)
      return
    end if
    call divide_for_one(blocks, blocks%out, sendbuf, sendtype, sendcount)
    if (blocks%me == root) then
      call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                  one_by_one(recvcount, blocks%np))
    else
      call divide_for_none(blocks, blocks%in)
    end if
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_gather_blocks

  !> MPI_Gatherv.
  subroutine asphalt_gatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                    recvtype, root, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: np

    call open_blocks(blocks, comm, root, not_known)
    if (blocks%whole) then
      call asphalt_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
                            root, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide_for_one(blocks, blocks%out, sendbuf, sendtype, sendcount)
    if (blocks%me == root) then
      call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(displs(:np)))
    else
      call divide_for_none(blocks, blocks%in)
    end if
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_gatherv_blocks

  !> MPI_Scatter.
  subroutine asphalt_scatter_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                    root, comm, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(recvcount, recvtype)))
    if (blocks%whole) then
      call keep(blocks, scatter, sendcount, sendtype, recvcount, recvtype, comm)
    else
      if (blocks%me == root) then
        call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                    one_by_one(sendcount, blocks%np))
      else
        call divide_for_none(blocks, blocks%out)
      end if
      call divide_for_one(blocks, blocks%in, recvbuf, recvtype, recvcount)
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_scatter_blocks

  !> MPI_Scatterv.
  subroutine asphalt_scatterv_blocks(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
                                     recvtype, root, comm, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvcount, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    integer :: np

    call open_blocks(blocks, comm, root, not_known)
    np = blocks%np
    if (blocks%whole) then
      call keep(blocks, scatterv, 0, sendtype, recvcount, recvtype, comm)
      allocate (blocks%sendcounts(np), source=0)
      allocate (blocks%sdispls(np), source=0)
      if (root == blocks%me .or. root == MPI_ROOT) then
        blocks%sendcounts = sendcounts(:np)
        blocks%sdispls = displs(:np)
      end if
    else
      if (blocks%me == root) then
        call divide(blocks%out, sendbuf, sendtype, sendcounts(:np), wide(displs(:np)))
      else
        call divide_for_none(blocks, blocks%out)
      end if
      call divide_for_one(blocks, blocks%in, recvbuf, recvtype, recvcount)
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_scatterv_blocks

  !> MPI_Bcast of a buffer with planes, which take the place of blocks; `plane`: the sizes of the
  !! dimensions of one.
  subroutine asphalt_bcast_blocks(buffer, count, datatype, root, comm, plane, blocks, later)
    !GCC$ attributes no_arg_check :: buffer
    !DIR$ ignore_tkr buffer
    integer, dimension(*), asynchronous :: buffer
    integer, intent(in) :: count, datatype, root, comm, plane(:)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    logical :: waits, between_groups
    integer :: error

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(count, datatype)))
    call keep(blocks, bcast, count, datatype, count, datatype, comm)
    call MPI_Comm_test_inter(comm, between_groups, error)
    if (blocks%np == 1 .and. .not. between_groups) then
      blocks%whole = .false.
    else if (.not. blocks%whole) then
      call open_spread(blocks, buffer, count, datatype, plane)
      blocks%whole = .not. blocks%spreads
    end if
    waits = .false.
    if (present(later)) waits = later
    if (.not. waits) call asphalt_send_blocks(blocks, buffer)
  end subroutine asphalt_bcast_blocks

  !> The value that the variable of a loop from `first` to `last` has in its iteration `turn`, which
  !! goes from `first` to `last`, too, where it works on one received block after the other: the own
  !! block first, then those that come first.  `zero`: the value for the block of rank 0, or for the
  !! first plane.
  pure integer function asphalt_to_take(blocks, turn, first, last, zero)
    type(asphalt_blocks), intent(in) :: blocks
    integer, intent(in) :: turn, first, last, zero

    asphalt_to_take = turned(own_place(blocks%in, blocks%me) + zero - turn + first, first, last)
  end function asphalt_to_take

  !> The same of a loop that fills the blocks that are sent: `turn` goes from `first` to `last`, and
  !! the own block comes last, where the loop goes over those of all ranks.
  pure integer function asphalt_to_send(blocks, turn, first, last, zero)
    type(asphalt_blocks), intent(in) :: blocks
    integer, intent(in) :: turn, first, last, zero

    asphalt_to_send = turned(own_place(blocks%out, blocks%me) + zero + turn - first + 1, first, &
                             last)
  end function asphalt_to_send

  !> Whether a loop that works on one received block after the other has another one: then `value`
  !! is what its variable has for that.  The arguments are those of `asphalt_to_take`.
  logical function asphalt_next_to_take(blocks, value, first, last, zero)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(inout) :: value
    integer, intent(in) :: first, last, zero

    asphalt_next_to_take = has_turn(blocks, first, last)
    if (asphalt_next_to_take) value = asphalt_to_take(blocks, blocks%turn, first, last, zero)
  end function asphalt_next_to_take

  !> The same of a loop that fills one block after the other.
  logical function asphalt_next_to_send(blocks, value, first, last, zero)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(inout) :: value
    integer, intent(in) :: first, last, zero

    asphalt_next_to_send = has_turn(blocks, first, last)
    if (asphalt_next_to_send) value = asphalt_to_send(blocks, blocks%turn, first, last, zero)
  end function asphalt_next_to_send

  !> Goes to the next turn of a loop from `first` to `last`, or out of it.
  logical function has_turn(blocks, first, last)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: first, last

    if (blocks%is_in_turns) then
      has_turn = blocks%turn < last
      if (has_turn) blocks%turn = blocks%turn + 1
    else
      has_turn = first <= last
      blocks%turn = first
    end if
    blocks%is_in_turns = has_turn
  end function has_turn

  !> Where the own block is: the rank, or the last plane that it touches.
  pure integer(int64) function own_place(side, me)
    type(divided), intent(in) :: side
    integer, intent(in) :: me

    own_place = me
    if (.not. allocated(side%last)) return
    if (side%first(me + 1) <= side%last(me + 1)) own_place = side%last(me + 1)
  end function own_place

  !> A value from `first` to `last`, behind which the first one comes again.
  pure integer function turned(place, first, last)
    integer(int64), intent(in) :: place
    integer, intent(in) :: first, last

    turned = first + int(modulo(place - first, int(last, int64) - first + 1))
  end function turned

  !> Waits for the block of a rank, or for a plane, which the caller may access afterwards.  Of what
  !! is no rank, there is nothing to wait for.
  subroutine asphalt_await_block(blocks, rank, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ ignore_tkr recvbuf
    integer, dimension(*), asynchronous :: recvbuf
    integer :: from, unused(MPI_STATUS_SIZE), error

    if (blocks%whole) then
      call MPI_Wait(blocks%request, unused, error)
    else if (blocks%spreads) then
      call pass_on_until(blocks, (int(rank, int64) + 1) * blocks%cast%plane)
    else if (blocks%operation == bcast) then
      continue  ! one rank
    else if (allocated(blocks%in%last)) then
      call await(blocks, blocks%in%first <= rank .and. rank <= blocks%in%last)
    else if (rank >= 0 .and. rank < blocks%np) then
      call await(blocks, [(from == rank, from = 0, blocks%np - 1)])
    end if
    call asphalt_sync(recvbuf)
  end subroutine asphalt_await_block

  !> Waits for the blocks of some ranks.
  subroutine await(blocks, wanted)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in) :: wanted(:)
    integer :: turn, from, unused(MPI_STATUS_SIZE), error
    logical :: done

    if (.not. any(wanted)) return
    if (any(blocks%in%left)) then
      ! all that was posted is here: the network is faster than the work, or late ranks come now
      call MPI_Testall(blocks%np, blocks%in%requests, done, MPI_STATUSES_IGNORE, error)
      if (done) blocks%window = min(2 * blocks%window, blocks%np)
      do turn = 1, blocks%np
        from = modulo(blocks%me - turn, blocks%np)
        if (wanted(from + 1)) call receive(blocks, from)
      end do
      call post(blocks)
    end if
    do from = 1, blocks%np
      if (wanted(from)) call MPI_Wait(blocks%in%requests(from), unused, error)
    end do
    if (any(blocks%in%left)) call post(blocks)
  end subroutine await

  !> Sends the block of a rank, or those that touch a plane and no other one that is still to be
  !! filled: the caller does not change it any more, and says so once.
  subroutine asphalt_send_block(blocks, rank, sendbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ ignore_tkr sendbuf
    integer, dimension(*), asynchronous :: sendbuf

    call asphalt_sync(sendbuf)
    if (blocks%spreads) call fill_until(blocks, (int(rank, int64) + 1) * blocks%cast%plane)
    if (blocks%whole .or. blocks%operation == bcast) return
    if (allocated(blocks%out%missing)) then
      call fill(blocks, rank)
    else if (rank >= 0 .and. rank < blocks%np) then
      call send(blocks, rank)
    end if
  end subroutine asphalt_send_block

  !> Sends the blocks that a plane completes.
  subroutine fill(blocks, plane)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: plane
    integer :: turn, to

    associate (out => blocks%out)
      do turn = 1, blocks%np
        to = modulo(blocks%me + turn, blocks%np) + 1
        if (plane < out%first(to) .or. plane > out%last(to)) cycle
        out%missing(to) = out%missing(to) - 1
        if (out%missing(to) == 0) call send(blocks, to - 1)
      end do
    end associate
  end subroutine fill

  !> Sends the blocks that are not sent yet.
  subroutine asphalt_send_blocks(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf  ! of operations that have two buffers
    integer :: turn

    call asphalt_sync(sendbuf)
    if (blocks%whole) then
      call start_whole(blocks, sendbuf, recvbuf)
      return
    end if
    if (blocks%spreads) then
      call fill_until(blocks, blocks%cast%elements)
      call post_pieces(blocks)
    end if
    if (blocks%operation == bcast) return
    if (blocks%late) then
      blocks%late = .false.
      call post(blocks)
    end if
    do turn = 1, blocks%np
      call send(blocks, modulo(blocks%me + turn, blocks%np))
    end do
  end subroutine asphalt_send_blocks

  !> Waits for everything: both buffers are the caller's again.
  subroutine asphalt_finish_blocks(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf
    integer :: unused(MPI_STATUS_SIZE), error

    if (blocks%whole) then
      call MPI_Wait(blocks%request, unused, error)
    else if (blocks%spreads) then
      call pass_on_until(blocks, blocks%cast%elements)
      call MPI_Waitall(size(blocks%out%requests), blocks%out%requests, MPI_STATUSES_IGNORE, error)
    else if (blocks%operation /= bcast) then
      blocks%window = blocks%np
      call post(blocks)
      call MPI_Waitall(blocks%np, blocks%in%requests, MPI_STATUSES_IGNORE, error)
      call MPI_Waitall(blocks%np, blocks%out%requests, MPI_STATUSES_IGNORE, error)
    end if
    call asphalt_sync(sendbuf)
    if (present(recvbuf)) call asphalt_sync(recvbuf)
  end subroutine asphalt_finish_blocks

  !> Decides whether an operation is carried out as messages, by what all ranks know to be equal:
  !! the communicator, and how many bytes a block has, or that this is `not_known`.
  subroutine open_blocks(blocks, comm, root, bytes)
    type(asphalt_blocks), intent(out) :: blocks
    integer, intent(in) :: comm, root
    integer(int64), intent(in) :: bytes
    logical :: between_groups, usable
    integer :: error

    blocks%root = root
    call MPI_Comm_test_inter(comm, between_groups, error)
    if (error /= MPI_SUCCESS) return
    if (between_groups) then
      call MPI_Comm_remote_size(comm, blocks%np, error)
      return
    end if
    call MPI_Comm_size(comm, blocks%np, error)
    if (error == MPI_SUCCESS) call MPI_Comm_rank(comm, blocks%me, error)
    if (error /= MPI_SUCCESS .or. (bytes > 0 .and. bytes < least_message)) return
    call private_messages(comm, bytes, blocks%comm, blocks%tag, usable)
    blocks%whole = .not. usable
  end subroutine open_blocks

  !> What a buffer has for each rank; `displs`: in elements.
  subroutine divide(side, buf, datatype, counts, displs)
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatype, counts(:)
    integer(MPI_ADDRESS_KIND), intent(in) :: displs(:)
    integer(MPI_ADDRESS_KIND) :: lower, extent
    integer :: error

    call MPI_Get_address(buf, side%address, error)
    call MPI_Type_get_extent(datatype, lower, extent, error)
    allocate (side%counts(size(counts)), source=counts)
    allocate (side%datatypes(size(counts)), source=datatype)
    allocate (side%displs(size(counts)), source=displs * extent)
    allocate (side%requests(size(counts)), source=MPI_REQUEST_NULL)
    allocate (side%left(size(counts)), source=.true.)
  end subroutine divide

  !> The same with a datatype for each rank, and `displs` in bytes; `plane`: the bytes of a plane.
  subroutine divide_by_types(side, buf, datatypes, counts, displs, plane)
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatypes(:), counts(:), displs(:)
    integer(int64), intent(in) :: plane
    integer :: rank

    call divide(side, buf, MPI_BYTE, counts, wide(displs))
    side%datatypes = merge(datatypes, MPI_BYTE, counts > 0)
    allocate (side%first(size(counts)), side%last(size(counts)), side%missing(size(counts)))
    do rank = 1, size(counts)
      call find_planes(side%datatypes(rank), counts(rank), side%displs(rank), plane, &
                       side%first(rank), side%last(rank), side%missing(rank))
    end do
  end subroutine divide_by_types

  !> The planes that a block touches: of an empty one none, and all of them where their size is not
  !! known, or the extent of the type may be wrong.  Elements of the block may lie in any order, and
  !! in front of where it begins.
  subroutine find_planes(datatype, count, displacement, plane, first, last, missing)
    integer, intent(in) :: datatype, count
    integer(MPI_ADDRESS_KIND), intent(in) :: displacement
    integer(int64), intent(in) :: plane
    integer(int64), intent(out) :: first, last, missing
    integer(MPI_ADDRESS_KIND) :: lower, extent, true_lower, true_extent, apart
    integer(int64) :: from, to
    integer :: error
    logical :: known

    first = 0
    last = -1
    missing = 0
    if (count <= 0) return
    if (bytes_of(1, datatype) == 0) return
    known = plane > 0
    if (known) known = has_extents(datatype)
    if (.not. known) then
      first = -beyond
      last = beyond
      missing = beyond
      return
    end if
    call MPI_Type_get_extent(datatype, lower, extent, error)
    call MPI_Type_get_true_extent(datatype, true_lower, true_extent, error)
    apart = (count - 1) * extent
    from = displacement + true_lower + min(0_MPI_ADDRESS_KIND, apart)
    to = displacement + true_lower + true_extent - 1 + max(0_MPI_ADDRESS_KIND, apart)
    first = (from - modulo(from, plane)) / plane
    last = (to - modulo(to, plane)) / plane
    missing = last - first + 1
  end subroutine find_planes

  !> Whether the extents that MPI tells of a type are right.  For a subarray of one element SMPI
  !! 3.32 tells those of the element, as if it lay where the array begins, and for a type that was
  !! resized what it was resized to is the true extent, too: predefined types are believed, and no
  !! others.
  logical function has_extents(datatype)
    integer, intent(in) :: datatype
    integer :: integers, addresses, datatypes, combiner, error

    has_extents = .not. is_smpi()
    if (has_extents) return
    call MPI_Type_get_envelope(datatype, integers, addresses, datatypes, combiner, error)
    has_extents = error == MPI_SUCCESS .and. combiner == MPI_COMBINER_NAMED
  end function has_extents

  !> The same for a buffer that has something for the root alone.
  subroutine divide_for_one(blocks, side, buf, datatype, count)
    type(asphalt_blocks), intent(in) :: blocks
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatype, count

    call divide(side, buf, datatype, spread_out(count, blocks%np), at_once(blocks%np))
    side%left = .false.
    side%left(blocks%root + 1) = .true.
  end subroutine divide_for_one

  !> The same for a buffer that means nothing on this rank.
  subroutine divide_for_none(blocks, side)
    type(asphalt_blocks), intent(in) :: blocks
    type(divided), intent(inout) :: side

    allocate (side%requests(blocks%np), source=MPI_REQUEST_NULL)
    allocate (side%left(blocks%np), source=.false.)
  end subroutine divide_for_none

  !> The same count for all ranks.
  pure function spread_out(count, np) result(counts)
    integer, intent(in) :: count, np
    integer :: counts(np)

    counts = count
  end function spread_out

  !> Displacements of blocks of `count` elements, one behind the other.
  pure function one_by_one(count, np) result(displs)
    integer, intent(in) :: count, np
    integer(MPI_ADDRESS_KIND) :: displs(np)
    integer :: rank

    displs = [(int(rank, MPI_ADDRESS_KIND) * count, rank = 0, np - 1)]
  end function one_by_one

  !> Displacements of one block for all ranks.
  pure function at_once(np) result(displs)
    integer, intent(in) :: np
    integer(MPI_ADDRESS_KIND) :: displs(np)

    displs = 0
  end function at_once

  !> Displacements that do not overflow.
  elemental integer(MPI_ADDRESS_KIND) function wide(displacement)
    integer, intent(in) :: displacement

    wide = displacement
  end function wide

  !> Bytes of a block.
  integer(int64) function bytes_of(count, datatype)
    integer, intent(in) :: count, datatype
    integer :: bytes, error

    call MPI_Type_size(datatype, bytes, error)
    bytes_of = 0
    if (error == MPI_SUCCESS) bytes_of = int(count, int64) * bytes
  end function bytes_of

  !> Remembers the arguments of an operation that is started as one.
  subroutine keep(blocks, operation, sendcount, sendtype, recvcount, recvtype, comm)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: operation, sendcount, sendtype, recvcount, recvtype, comm

    blocks%operation = operation
    blocks%sendcount = sendcount
    blocks%sendtype = sendtype
    blocks%recvcount = recvcount
    blocks%recvtype = recvtype
    blocks%users_comm = comm
  end subroutine keep

  !> Starts an operation as one, if it has not been started.
  subroutine start_whole(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf
    integer :: error

    select case (blocks%operation)
    case (bcast)
      call asphalt_ibcast(sendbuf, blocks%sendcount, blocks%sendtype, blocks%root, &
                          blocks%users_comm, blocks%request)
    case (alltoallw)  ! where the call stood; MPI_Ialltoallw of Open MPI 4.1 loses derived types
      call MPI_Alltoallw(sendbuf, blocks%sendcounts, blocks%sdispls, blocks%sendtypes, recvbuf, &
                         blocks%recvcounts, blocks%rdispls, blocks%recvtypes, blocks%users_comm, &
                         error)
    case (alltoall)
      call asphalt_ialltoall(sendbuf, blocks%sendcount, blocks%sendtype, recvbuf, &
                             blocks%recvcount, blocks%recvtype, blocks%users_comm, blocks%request)
    case (scatter)
      call asphalt_iscatter(sendbuf, blocks%sendcount, blocks%sendtype, recvbuf, &
                            blocks%recvcount, blocks%recvtype, blocks%root, blocks%users_comm, &
                            blocks%request)
    case (scatterv)
      call asphalt_iscatterv(sendbuf, blocks%sendcounts, blocks%sdispls, blocks%sendtype, recvbuf, &
                             blocks%recvcount, blocks%recvtype, blocks%root, blocks%users_comm, &
                             blocks%request)
    end select
  end subroutine start_whole

  !> Starts an operation: all of its messages, or where blocks are filled `later` all receives, for
  !! then the sends come one after the other.
  subroutine start(blocks, sendbuf, recvbuf, later)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    logical, intent(in), optional :: later
    logical :: waits

    waits = .false.
    if (present(later)) waits = later
    if (.not. blocks%whole) then
      call open_window(blocks, waits)
      if (.not. blocks%late) call post(blocks)
    end if
    if (.not. waits) call asphalt_send_blocks(blocks, sendbuf, recvbuf)
  end subroutine start

  !> How many receives are posted at first; all of them where the sends come one after the other.
  subroutine open_window(blocks, waits)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in) :: waits
    integer(int64) :: bytes
    integer :: rank

    if (waits) then
      blocks%window = blocks%np
    else if (any(blocks%in%left)) then
      bytes = 0
      do rank = 1, blocks%np
        bytes = bytes + bytes_of(blocks%in%counts(rank), blocks%in%datatypes(rank))
      end do
      bytes = bytes / blocks%np
      blocks%window = int(min(int(blocks%np, int64), &
                              max(int(least_window, int64), bytes_in_window / max(1_int64, bytes))))
    end if
  end subroutine open_window

  !> Starts the send to a rank, if it has not been started; what is the own one's is copied.
  subroutine send(blocks, rank)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    integer(c_signed_char), pointer :: byte
    integer :: to

    to = rank + 1
    if (.not. blocks%out%left(to) .or. (blocks%late .and. rank == blocks%me)) return
    blocks%out%left(to) = .false.
    if (rank == blocks%me) then
      call copy_own(blocks)
    else
      call find(blocks%out, to, byte)
      call asphalt_isend(byte, blocks%out%counts(to), blocks%out%datatypes(to), rank, blocks%tag, &
                         blocks%comm, blocks%out%requests(to))
    end if
  end subroutine send

  !> Posts the next receives, as many as may be under way.
  subroutine post(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: turn, first, direction, under_way

    first = blocks%me
    direction = -1
    if (blocks%root >= 0) then  ! the loops of a root keep their order
      first = -1
      direction = 1
    end if
    under_way = count(blocks%in%requests /= MPI_REQUEST_NULL)
    do turn = 1, blocks%np
      if (under_way >= blocks%window) return
      associate (rank => modulo(first + direction * turn, blocks%np))
        if (.not. blocks%in%left(rank + 1)) cycle
        call receive(blocks, rank)
        if (rank /= blocks%me) under_way = under_way + 1
      end associate
    end do
  end subroutine post

  !> Posts the receive from a rank, if it has not been posted.
  subroutine receive(blocks, rank)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    integer(c_signed_char), pointer :: byte
    integer :: from

    from = rank + 1
    if (.not. blocks%in%left(from)) return
    blocks%in%left(from) = .false.
    if (rank == blocks%me) return  ! copied when it would be sent
    call find(blocks%in, from, byte)
    call asphalt_irecv(byte, blocks%in%counts(from), blocks%in%datatypes(from), rank, blocks%tag, &
                       blocks%comm, blocks%in%requests(from))
  end subroutine receive

  !> Copies the block that a rank has for itself; as a message, unless it is known to have no gaps
  !! and to begin where it is passed.
  subroutine copy_own(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: from, to
    integer(MPI_ADDRESS_KIND) :: lower, extent, true_lower, true_extent
    type(c_ptr) :: unused
    integer :: own, bytes, request, ignored(MPI_STATUS_SIZE), error
    logical :: dense

    own = blocks%me + 1
    associate (type => blocks%out%datatypes(own), other => blocks%in%datatypes(own))
      call MPI_Type_size(type, bytes, error)
      call MPI_Type_get_extent(type, lower, extent, error)
      call MPI_Type_get_true_extent(type, true_lower, true_extent, error)
      call find(blocks%out, own, from)
      call find(blocks%in, own, to)
      dense = type == other .and. all([lower, true_lower] == 0) .and. &
              all([extent, true_extent] == bytes)
      if (dense) dense = has_extents(type)
      if (dense) then
        unused = memcpy(to, from, int(blocks%out%counts(own), c_size_t) * bytes)
        return
      end if
      call asphalt_irecv(to, blocks%in%counts(own), other, blocks%me, blocks%tag, blocks%comm, &
                         blocks%in%requests(own))
      call asphalt_isend(from, blocks%out%counts(own), type, blocks%me, blocks%tag, blocks%comm, &
                         request)
    end associate
    call MPI_Wait(request, ignored, error)
    call MPI_Wait(blocks%in%requests(own), ignored, error)
  end subroutine copy_own

  !> Cuts a broadcast into pieces, and finds out on which way they come and go; they do not where
  !! one operation takes less time.  All that this depends on is the same on all ranks.
  subroutine open_spread(blocks, buffer, count, datatype, plane)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: buffer
    !DIR$ ignore_tkr buffer
    integer, dimension(*), asynchronous :: buffer
    integer, intent(in) :: count, datatype, plane(:)
    integer(int64) :: bytes
    integer :: pieces, place, rank, piece

    bytes = bytes_of(count, datatype)
    if (bytes < 1) return
    pieces = int(max(1_int64, min(int(max(most_pieces, blocks%np), int64), bytes / least_message)))
    associate (cast => blocks%cast, np => blocks%np)
      ! in turns of a piece: along a line, and down a tree
      if (min(pieces + np - 2, pieces * levels(np)) > longest_way * pieces) return
      blocks%spreads = .true.
      cast%elements = count
      cast%plane = elements(plane)
      cast%piece = (cast%elements + pieces - 1) / pieces
      cast%pieces = int((cast%elements + cast%piece - 1) / cast%piece)
      place = modulo(blocks%me - blocks%root, np)
      if (pieces + np - 2 <= pieces * levels(np)) then
        if (place > 0) cast%parent = modulo(blocks%me - 1, np)
        cast%children = [(modulo(blocks%me + 1, np), rank = place + 1, min(place + 1, np - 1))]
      else
        if (place > 0) cast%parent = modulo(blocks%root + place - lowest(place), np)
        cast%children = modulo(blocks%root + in_tree(place, np), np)
      end if
      call divide(blocks%in, buffer, datatype, &
                  [(int(min(cast%piece, cast%elements - (piece - 1) * cast%piece)), &
                    piece = 1, cast%pieces)], &
                  [(int((piece - 1) * cast%piece, MPI_ADDRESS_KIND), piece = 1, cast%pieces)])
      allocate (blocks%out%requests(cast%pieces * size(cast%children)), source=MPI_REQUEST_NULL)
    end associate
  end subroutine open_spread

  !> The levels of a binomial tree of `np` ranks.
  pure integer function levels(np)
    integer, intent(in) :: np

    levels = 0
    do while (ishft(1, levels) < np)
      levels = levels + 1
    end do
  end function levels

  !> The lowest bit of a number above 0.
  pure integer function lowest(place)
    integer, intent(in) :: place

    lowest = iand(place, not(place - 1))
  end function lowest

  !> The places to which that of a binomial tree of `np` ranks sends, the largest subtree first.
  pure function in_tree(place, np) result(children)
    integer, intent(in) :: place, np
    integer, allocatable :: children(:)
    integer :: bit, low

    low = ishft(1, levels(np))
    if (place > 0) low = lowest(place)
    allocate (children(0))
    bit = low / 2
    do while (bit > 0)
      if (place + bit < np) children = [children, place + bit]
      bit = bit / 2
    end do
  end function in_tree

  !> Posts the receives of the next pieces of a broadcast: more at once would share the link.
  subroutine post_pieces(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: byte
    integer :: piece

    if (blocks%cast%parent < 0) return
    do piece = blocks%cast%posted + 1, min(blocks%cast%complete + least_window, blocks%cast%pieces)
      blocks%cast%posted = piece
      call find(blocks%in, piece, byte)
      call asphalt_irecv(byte, blocks%in%counts(piece), blocks%in%datatypes(piece), &
                         blocks%cast%parent, blocks%tag, blocks%comm, blocks%in%requests(piece))
    end do
  end subroutine post_pieces

  !> Sends the pieces of a broadcast that the root has filled: all of the first `elements`.
  subroutine fill_until(blocks, elements)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64), intent(in) :: elements

    if (blocks%cast%parent >= 0) return
    associate (cast => blocks%cast)
      do while (cast%complete < cast%pieces)
        if (elements < min(cast%elements, (cast%complete + 1) * cast%piece)) exit
        call pass_on(blocks)
      end do
    end associate
  end subroutine fill_until

  !> Waits for the first `elements` of a broadcast; whatever has come is sent on.
  subroutine pass_on_until(blocks, elements)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64), intent(in) :: elements
    integer :: unused(MPI_STATUS_SIZE), error
    logical :: done

    associate (cast => blocks%cast)
      do while (cast%complete < cast%pieces)
        associate (request => blocks%in%requests(cast%complete + 1))
          if (cast%complete * cast%piece < elements) then
            call MPI_Wait(request, unused, error)
          else
            call MPI_Test(request, done, unused, error)
            if (.not. done) exit
          end if
        end associate
        call pass_on(blocks)
        call post_pieces(blocks)
      end do
      if (size(blocks%out%requests) > 0) &
        call MPI_Testall(size(blocks%out%requests), blocks%out%requests, done, &
                         MPI_STATUSES_IGNORE, error)
    end associate
  end subroutine pass_on_until

  !> Sends the next piece of a broadcast on: it is complete.
  subroutine pass_on(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: byte
    integer :: child, next

    associate (cast => blocks%cast)
      cast%complete = cast%complete + 1
      call find(blocks%in, cast%complete, byte)
      do child = 1, size(cast%children)
        next = (cast%complete - 1) * size(cast%children) + child
        call asphalt_isend(byte, blocks%in%counts(cast%complete), &
                           blocks%in%datatypes(cast%complete), cast%children(child), blocks%tag, &
                           blocks%comm, blocks%out%requests(next))
      end do
    end associate
  end subroutine pass_on

  !> The first byte of the block of a rank, counted from 1.
  subroutine find(side, rank, byte)
    type(divided), intent(in) :: side
    integer, intent(in) :: rank
    integer(c_signed_char), pointer, intent(out) :: byte

    call c_f_pointer(transfer(side%address + side%displs(rank), c_null_ptr), byte)
  end subroutine find
end module asphalt_decomposition
