! An exchange of blocks (MPI_ALLTOALL, MPI-4.0 section 6.8) in tiles: each is sent as soon as the
! loop has computed it.
!
! For transformed code
!   asphalt_enter      is called once before the tiles.  It answers in the same way on all ranks: on
!                      which communicator the tiles travel, how many iterations make a tile, and
!                      whether to tile at all.  Where not (K = 0), the original call, which stays in
!                      the code, does the work
!   asphalt_progress   is called in the loop, and lets MPI work on the messages (section 3.7.3)
!   asphalt_window     the planes of a block that a tile sends, where they are not those of its
!                      iterations
!   asphalt_ranks, asphalt_rank   size and rank, for declarations and guards before the entry
!   asphalt_copy       copies what was received into a clone of the buffer to the buffer itself
!
! The messages themselves are started and completed by the procedures of asphalt_core.
!
! For the other modules of the runtime
!   open_exchange   rank, size, and whether there is anything to tile on
!   tell_tiled      tells whoever checks the program that an exchange was tiled
!   asked           a request that `asphalt_progress` has an eye on
module asphalt_exchange
  use, intrinsic :: iso_c_binding, only: c_ptr, c_size_t
  use asphalt_core, only: asphalt_byte, asphalt_no_request, asphalt_sync, int64, is_dense, memcpy
  use asphalt_communicators, only: companion, find_companion, private_duplicate, recall, &
                                   site_memory, too_early
  use asphalt_choice, only: block_bytes, chosen_k, in_long_runs, least_block, least_slab_depth, &
                            patience, tiles
  use mpi, only: MPI_COMM_NULL, MPI_INTEGER, MPI_MAX, MPI_STATUS_IGNORE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_enter, asphalt_progress, asphalt_window, asphalt_ranks, asphalt_rank, &
            asphalt_copy
  ! for the other modules of the runtime
  public :: open_exchange, tell_tiled, asked

  !> Chances for MPI in one tile: more of them cost more than they bring.
  integer, parameter :: chances_a_tile = 8

  !> The request of the last exchange whose ranks are still telling each other how they cut.
  integer, pointer, save :: asked => null()
  !> Which receive asphalt_progress found pending last, of whatever exchange: where it looks first.
  integer, save :: expected_last = 0

  !> Whether it has been told that an exchange was tiled.
  logical :: told = .false.

contains

  !> Enters one exchange.
  !!
  !! `comm`, `datatype`: those of the exchange.  `bytes`: storage of one element of the buffer; the
  !! exchange is not tiled where the data type is not exactly that.  `elements`: elements that one
  !! iteration adds to one message.  `trips`: iterations over which one stream of messages runs.
  !! `grain`: a chosen `k` is a multiple of it.  `wanted_k`, `wanted_d`: from the header;
  !! `wanted_k` = 0 means: choose.  `legal`: the guards of this rank hold.  `certain`: `datatype`,
  !! `elements`, `trips` and `legal` are known to be equal on all ranks of `comm`; if not, the ranks
  !! agree here by one reduction.  `slab`: the streams to the ranks follow one another (otherwise,
  !! and by default, every tile sends to every rank).  `ready`: one more size that must be equal.
  !! `extents`, `along`, `strides`: what `asphalt_strided` gets, where a tile is not one run of a
  !! block; `certain` covers `extents`, too.  `count`: elements that the call sends to each rank;
  !! MPI wants `count` of `datatype` to be equally many bytes on all ranks (MPI-3.1 section 5.8), so
  !! that this alone may decide, without asking, that there is too little to gain.  `site`: under
  !! which name it is remembered that the ranks agreed not to tile.  `alone`: nothing else of the
  !! program can meet the messages on `comm` itself; by default they need a private duplicate.
  !!
  !! `own`, `me`, `np`: the communicator of the messages where the exchange is tiled, rank and size.
  !! `k`: iterations of a tile, 1 <= `k` <= `trips`, or 0: do not tile.  `d`: tiles in flight, at
  !! least 1 and at most the number of tiles; where `k` is chosen, it may be more than `wanted_d`.
  !! `ierror`: the first error, if `comm` has an error handler that returns.
  subroutine asphalt_enter(comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d, &
                           legal, certain, own, me, np, k, d, ierror, slab, ready, extents, &
                           along, strides, count, site, alone)
    integer, intent(in) :: comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d
    logical, intent(in) :: legal, certain
    integer, intent(out) :: own, me, np, k, d, ierror
    logical, intent(in), optional :: slab
    integer, intent(in), optional :: ready, extents(:), along, strides(:), count
    character(*), intent(in), optional :: site
    logical, intent(in), optional :: alone
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    logical :: usable, dense, one_by_one, made, apart
    integer :: more

    k = 0
    d = 1
    one_by_one = .false.
    if (present(slab)) one_by_one = slab
    apart = .true.
    if (present(alone)) apart = .not. alone
    call open_exchange(comm, own, me, np, usable, ierror)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (np == 1) return
      if (present(count)) then
        if (block_bytes(count, datatype) < least_block(one_by_one, certain)) return
      end if
      call find_companion(comm, carried, ierror)
      if (ierror /= MPI_SUCCESS) return
      if (present(count) .and. (apart .or. .not. certain)) then
        if (too_early(carried, block_bytes(count, datatype), certain)) return
      end if
      if (present(site) .and. .not. certain) then
        call recall(carried, site, 0, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(datatype, bytes, dense, ierror)
    if (ierror == MPI_SUCCESS .and. dense .and. legal .and. trips > 0 .and. elements > 0) then
      k = min(wanted_k, trips)
      d = wanted_d
      if (wanted_k <= 0) then
        k = chosen_k(np, one_by_one, .false., int(elements, int64) * bytes, trips, grain)
        if (present(extents)) k = in_long_runs(k, bytes, trips, grain, extents, along, strides)
        if (one_by_one) d = max(d, least_slab_depth)
      end if
      if (k > 0) d = int(max(1_int64, min(int(d, int64), tiles(one_by_one, np, trips, k))))
    end if
    if (.not. certain .and. np > 1) then
      more = 0
      if (present(ready)) more = ready
      if (present(extents)) then
        call agree(comm, [k, d, trips, elements, bytes, more, extents], k, ierror)
      else
        call agree(comm, [k, d, trips, elements, bytes, more], k, ierror)
      end if
      if (k == 0 .and. associated(memory)) memory%resting = patience
    end if
    if (k > 0 .and. apart) then
      made = .true.
      call private_duplicate(comm, own, .true., made, ierror)
      if (.not. made) k = 0
    end if
    if (k == 0) d = 1
    if (k > 0) call tell_tiled()
  end subroutine asphalt_enter

  !> Rank and size; not usable: there is nothing to tile on, on any rank.  Nothing that only one
  !! rank knows is looked at.
  subroutine open_exchange(comm, own, me, np, usable, ierror)
    integer, intent(in) :: comm
    integer, intent(out) :: own, me, np, ierror
    logical, intent(out) :: usable
    logical :: between_groups

    own = comm
    me = 0
    np = 1
    usable = .false.
    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL) return  ! the original call reports it
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_rank(comm, me, ierror)
    if (ierror /= MPI_SUCCESS) return
    call MPI_Comm_size(comm, np, ierror)
    usable = ierror == MPI_SUCCESS
  end subroutine open_exchange

  !> Sets `k` to 0 unless `facts` are the same on all ranks of `comm`.
  subroutine agree(comm, facts, k, ierror)
    integer, intent(in) :: comm, facts(:)
    integer, intent(inout) :: k
    integer, intent(inout) :: ierror
    integer :: mine(2 * size(facts)), most(2 * size(facts)), failed

    mine = [facts, -facts]
    call MPI_Allreduce(mine, most, size(mine), MPI_INTEGER, MPI_MAX, comm, failed)
    if (ierror == MPI_SUCCESS) ierror = failed
    if (failed /= MPI_SUCCESS) k = 0
    if (any(most(:size(facts)) /= -most(size(facts)+1:))) k = 0
  end subroutine agree

  !> Makes the file that the environment variable ASPHALT_TILED names, if there is one, at the first
  !! exchange that is tiled: whoever checks a program can see that it was not only the original
  !! call that was checked.
  subroutine tell_tiled()
    character(:), allocatable :: name
    integer :: length, status, unit
    logical :: taken

    if (told) return
    told = .true.
    call get_environment_variable('ASPHALT_TILED', length=length, status=status)
    if (status /= 0 .or. length == 0) return
    allocate(character(length) :: name)
    call get_environment_variable('ASPHALT_TILED', name)
    do unit = 7001, 7999
      inquire(unit=unit, opened=taken)
      if (.not. taken) exit
    end do
    open(unit, file=name, iostat=status)
    if (status == 0) close(unit)
  end subroutine tell_tiled

  !> Lets MPI work on the messages: MPI_Test on one pending request, which is expected last.
  !!
  !! Testing one costs a few hundredths of a microsecond, testing all of a ring grows with it.  A
  !! test of what is not there yet moves all messages; one of what is there may move none, and has
  !! it taken in now, where the next tile waits, and not at the end, beside the link.  So a request
  !! is tested until it is complete.  Of `requests`, no more than a third are those of sends; the
  !! others are for tiles, later ones behind, around a ring of twice as many as are in flight.
  !!
  !! `turn` counts the calls, from 0 on; only some of those in a tile test at all: of `k`, or of
  !! `times` as many.
  subroutine asphalt_progress(requests, turn, k, ierror, times)
    integer, intent(inout) :: requests(:), turn, ierror
    integer, intent(in) :: k
    integer, intent(in), optional :: times
    integer :: distance, sends, receives, later, looked_at, request

    distance = 1 + (k - 1) / chances_a_tile
    if (present(times)) then
      distance = int(min(1 + (int(k, int64) * max(1, times) - 1) / chances_a_tile, &
                         int(huge(distance), int64)))
    end if
    turn = turn + 1
    if (mod(turn, distance) /= 0 .or. size(requests) == 0) return
    sends = size(requests) / 3
    receives = size(requests) - sends
    if (expected_last < 1 .or. expected_last > receives) expected_last = receives
    later = 0
    do looked_at = 0, receives
      request = 1 + modulo(expected_last - 1 + later - looked_at, receives)
      if (is_pending(requests(sends + request), ierror)) then
        expected_last = request
        return
      end if
      if (looked_at == 0) later = 1 + receives / 2  ! as many tiles later as are in flight
    end do
    do looked_at = 1, sends
      if (is_pending(requests(looked_at), ierror)) return
    end do
    if (.not. associated(asked)) return
    if (.not. is_pending(asked, ierror)) nullify (asked)  ! what the ranks tell each other at first
  end subroutine asphalt_progress

  !> Tests a request, if it is one: whether it is not complete.
  logical function is_pending(request, ierror)
    integer, intent(inout) :: request, ierror
    logical :: done
    integer :: error

    is_pending = .false.
    if (request == asphalt_no_request) return
    call MPI_Test(request, done, MPI_STATUS_IGNORE, error)
    if (ierror == MPI_SUCCESS) ierror = error
    is_pending = .not. done
  end function is_pending

  !> The planes of a block that a tile sends, where they are not those of its iterations.
  !!
  !! `tile` of `tiles` (from 0) has up to `k` iterations.  In the order of the loop, `ready` + t `k`
  !! of the `block` planes are final before tile t; the last tile sends what is left.  `from`:
  !! planes before those that this tile sends; `planes`: how many it sends, maybe none.
  pure subroutine asphalt_window(tile, tiles, k, ready, block, from, planes)
    integer, intent(in) :: tile, tiles, k, ready, block
    integer, intent(out) :: from, planes

    from = 0
    if (tile > 0) from = min(max(ready + tile * k, 0), block)
    planes = block - from
    if (tile < tiles - 1) planes = min(max(ready + (tile + 1) * k, 0), block) - from
  end subroutine asphalt_window

  !> The number of ranks of `comm`; 1 where the exchange is not going to be tiled anyway.
  integer function asphalt_ranks(comm)
    integer, intent(in) :: comm
    integer :: ierror
    logical :: between_groups

    asphalt_ranks = 1
    if (comm == MPI_COMM_NULL) return
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_size(comm, asphalt_ranks, ierror)
  end function asphalt_ranks

  !> The number of this rank in `comm`; -1 where the exchange is not going to be tiled anyway.
  integer function asphalt_rank(comm)
    integer, intent(in) :: comm
    integer :: ierror
    logical :: between_groups

    asphalt_rank = -1
    if (comm == MPI_COMM_NULL) return
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_rank(comm, asphalt_rank, ierror)
  end function asphalt_rank

  !> Copies what was received into `clone` to the beginning of `buf`, a contiguous variable of any
  !! type.  The copy is one of memory, as that of the exchange was, and compilers see to it that
  !! neither side is kept in registers: what has arrived is seen, and what is copied, too.
  subroutine asphalt_copy(clone, buf)
    integer(asphalt_byte), allocatable, intent(inout) :: clone(:,:,:)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer(asphalt_byte), dimension(*) :: buf
    integer(c_size_t) :: bytes
    type(c_ptr) :: unused

    call asphalt_sync(clone)
    bytes = size(clone, 1)
    bytes = bytes * size(clone, 2) * size(clone, 3)
    unused = memcpy(buf, clone, bytes)
    call asphalt_sync(buf)
  end subroutine asphalt_copy
end module asphalt_exchange
