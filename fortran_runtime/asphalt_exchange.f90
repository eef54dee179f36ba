! An exchange of blocks (MPI_ALLTOALL, MPI-4.0 section 6.8) in tiles: an object that hands out the
! iterations of the loop that fills the send buffer, and sends them as soon as they are computed.
!
! For transformed code
!   asphalt_exchange_t   the exchange while it is going on.  Bound to it are
!     begin       begins it: the ranks decide in the same way whether to tile it, and how
!     next_tile   sends what the iterations of the tile have computed, if there was one, and hands
!                 out those of the next tile; false behind the last one
!     progress    is called in the loop, and lets MPI work on the messages (section 3.7.3)
!     finished    completes the exchange; false where it was not tiled: then the original call,
!                 which stays in the code, does the work
!     ranks       the number of ranks, for guards before the beginning
!
! Where the exchange is not tiled (K = 0), there is one tile, which has all iterations.
!
! The addresses of both buffers are kept from the beginning to the end.  They are taken of dummy
! arguments with TARGET, and each call that a compiler must not move an access to a buffer across
! has that buffer as an argument.  No buffer gets the attribute ASYNCHRONOUS, with which compilers
! stop vectorising what computes on it.
!
! For the other modules of the runtime
!   asphalt_exchange_t   is extended for blocks of other lengths: what next_tile and progress do with
!                        them is bound to the type
!   open_exchange        rank, size, and whether there is anything to tile on
!   tell_tiled           tells whoever checks the program that an exchange was tiled
!   set_loop, carry      what an exchange is about, and what carries its pieces
!   enter_loop           the first tile of a loop that is left at its end
!   keep_buffers, receive_piece, send_piece   buffers and pieces of an exchange
module asphalt_exchange
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_intptr_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use asphalt_core, only: asphalt_byte, asphalt_sync, int64, is_dense, memcpy
  use asphalt_backend_isend, only: backend_t, offer_t
  use asphalt_communicators, only: companion, find_companion, private_duplicate, recall, &
                                   site_memory, too_early
  use asphalt_choice, only: block_bytes, chosen_k, least_block, least_slab_depth, patience, tiles
  use mpi, only: MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_INTEGER, MPI_MAX, MPI_REQUEST_NULL, &
                 MPI_STATUS_IGNORE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_exchange_t
  ! for the other modules of the runtime
  public :: open_exchange, tell_tiled, carry, keep_buffers, planes_before, receive_piece, &
            send_piece, set_loop, enter_loop

  !> Chances for MPI in one tile: more of them cost more than they bring.
  integer, parameter :: chances_a_tile = 8

  !> An exchange that is going on.  Components but `tiled`, `cut`, `lo` and `hi` are for the modules
  !! of the runtime.
  type :: asphalt_exchange_t
    !> Whether it is made in tiles.  Where not, one tile has all iterations.
    logical :: tiled = .false.
    !> Whether the iterations are handed out in tiles.
    logical :: cut = .false.
    !> The first and the last iteration of the tile: the loop over it runs from `lo` to `hi`.
    integer :: lo = 1, hi = 0
    !> The communicator of the messages, rank and size; what is sent, and bytes of an element.
    integer :: comm = MPI_COMM_NULL, me = 0, np = 1
    integer :: datatype = MPI_DATATYPE_NULL, bytes = 0
    !> Iterations of a tile, and tiles in flight.
    integer :: k = 1, d = 1
    !> The loop: its iterations are `first`, `first + step` ... `last`.
    integer :: first = 1, last = 0, step = 1, trips = 0
    !> The tile whose iterations were handed out last, counted from 1, and how many there are.
    integer :: tile = 0, tiles = 1
    !> Tiles whose receives are posted; calls of `progress`.
    integer :: posted = 0, turn = 0
    !> What carries the pieces: in `sends` slots of sources, and those of destinations behind them.
    class(backend_t), allocatable :: messages
    integer :: sends = 0
    integer :: error = MPI_SUCCESS
    type(c_ptr) :: send = c_null_ptr, receive = c_null_ptr
    !> What is received into where the receive buffer is used until the call; else not associated.
    integer(asphalt_byte), pointer :: clone(:) => null()
    !> Of equal blocks: elements of a plane, of a block; planes of a block, and tiles of one.
    integer :: unit = 0, count = 0, planes = 0, each = 1
    logical :: slab = .false., backwards = .false., windowed = .false.
    !> Planes that are final before the loop, in front of its first one; 1: a tile sends them.
    integer :: ready = 0, before = 0, prologue = 0
    !> What the ranks tell each other at first, until all have: a request that `progress` has
    !! an eye on, too.
    integer, pointer :: asked => null()
  contains
    procedure :: begin, next_tile, progress, finished
    procedure, nopass :: ranks
    procedure :: hand_out => next_of_equal, send_pieces => send_equal, start_message => start_equal
    procedure :: hear_of_ranks => nothing_to_hear
    procedure :: release_all => release_messages
  end type asphalt_exchange_t

  !> Which receive progress found pending last, of whatever exchange: where it looks first.
  integer, save :: expected_last = 0

  !> Whether it has been told that an exchange was tiled.
  logical :: told = .false.

contains

  !> Begins an exchange of equal blocks.
  !!
  !! `comm`, `send`, `receive`, `count`, `datatype`: of the call, whose blocks have `count` elements
  !! of `datatype`; `bytes`: storage of one element of the buffer.  The exchange is not tiled where
  !! the data type is not exactly that.
  !!
  !! The loop over `first` ... `last` (by `step`, 1 or -1) adds `unit` elements, a plane, to each
  !! block with each iteration, or fills one block after the other, in the order of the ranks
  !! (`slab`).  `backwards`: the planes of a block come in the order opposite to that of memory; by
  !! default where `step` is -1.  `ready`: planes that are final before the loop, if its iterations
  !! do not complete their planes one by one; negative: iterations that complete none.  `before`:
  !! planes of the buffer in front of that of the first iteration, if slabs have more of them than
  !! the loop has iterations.
  !!
  !! `least_k`: below which a chosen K would not pay; `facts`: further sizes that must be equal on
  !! all ranks.  Both are for the modules of the runtime.
  !!
  !! `first` is 1 by default.  `k`, `d`: from the header; `k` = 0: choose.  A chosen `k` is a
  !! multiple of `grain`.
  !! `tiled`: the guards of this rank hold; else no address is kept, here or in any later call.
  !! `uniform`: `datatype`, sizes and `tiled` are known to be equal on all ranks of `comm`; if not,
  !! the ranks agree here by one reduction.  `site`: under which name it is remembered that they
  !! agreed not to tile, and what a backend keeps.  `alone`: nothing else of the program can meet
  !! the messages on `comm` itself; by default they need a private duplicate.  `clone`: the receive
  !! buffer is in use until the call, so that messages are received elsewhere, and copied at the
  !! end.  `backend`: the procedure that offers what carries the pieces; by default
  !! asphalt_by_isend.  `lasting`: both buffers are static storage, so that an address means the
  !! same array in every exchange.  `entered`: the loop over the tiles is left at its end,
  !! so that compilers know that it has a first iteration; then the first tile is handed out here.
  subroutine begin(x, comm, send, receive, count, datatype, bytes, unit, last, k, d, first, step, &
                   slab, backwards, ready, before, grain, tiled, uniform, alone, clone, site, &
                   least_k, facts, backend, lasting, entered)
    class(asphalt_exchange_t), intent(out) :: x
    integer, intent(in) :: comm, count, datatype, bytes, unit, last, k, d
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(in), optional :: first, step, ready, before, grain, least_k, facts(:)
    logical, intent(in), optional :: slab, backwards, tiled, uniform, alone, clone, lasting, entered
    character(*), intent(in), optional :: site
    procedure(), optional :: backend

    call carry(x, comm, backend, site, lasting)
    x%unit = unit
    x%count = count
    x%datatype = datatype
    x%bytes = bytes
    call set_loop(x, last, first, step)
    x%slab = is_so(slab, .false.)
    x%backwards = is_so(backwards, x%step < 0)
    x%windowed = present(ready) .or. present(before)
    if (present(ready)) x%ready = ready
    if (present(before)) x%before = before
    if (x%ready > 0) x%prologue = 1
    if (unit > 0) x%planes = count / unit
    call enter(x, comm, k, d, count, is_so(tiled, .true.) .and. fits(x), is_so(uniform, .false.), &
               x%messages%apart .or. .not. is_so(alone, .false.), grain, site, least_k, facts)
    x%tiled = x%k > 0
    x%cut = x%tiled
    if (x%tiled) then
      if (x%slab) then
        x%each = (x%planes + x%k - 1) / x%k
        x%tiles = x%np * x%each
      else
        x%tiles = (x%trips + x%k - 1) / x%k + x%prologue
      end if
      x%sends = x%d * merge(1, x%np, x%slab)
      call keep_buffers(x, send, receive, 3 * x%sends)
      if (is_so(clone, .false.)) then
        allocate(x%clone(int(x%np, int64) * count * bytes))
        x%receive = c_loc(x%clone(1))
        x%messages%keeps = .false.  ! the clone goes with this exchange
      end if
    end if
    call enter_loop(x, entered)
  end subroutine begin

  !> Hands out the first tile of a loop that is left at its end: there always is one.
  subroutine enter_loop(x, entered)
    class(asphalt_exchange_t), intent(inout) :: x
    logical, intent(in), optional :: entered

    if (is_so(entered, .false.)) call advance(x)
  end subroutine enter_loop

  !> Sends the pieces of the tile whose iterations were executed, if one was handed out, and hands
  !! out the next one.  False behind the last tile.
  !!
  !! `send`: the array from which they are sent.  Nothing is read of it here, but what it holds has
  !! to be in memory.
  logical function next_tile(x, send)
    class(asphalt_exchange_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: send
    !DIR$ ignore_tkr send
    integer(asphalt_byte), dimension(*), intent(in), target :: send

    call fence(c_loc(send))
    if (x%tile == 1) call x%hear_of_ranks(.true.)
    if (x%tile > 0 .and. x%tiled) call x%send_pieces()
    call advance(x)
    next_tile = x%tile <= x%tiles
  end function next_tile

  !> Sets `x%lo` and `x%hi`, the first and the last iteration of the next tile: the loop over the
  !! tile runs from one to the other, by the step of the loop.  Behind the last tile, `x%lo` is the
  !! value that the loop variable has behind a loop over all iterations.
  subroutine advance(x)
    class(asphalt_exchange_t), intent(inout) :: x

    x%lo = x%first
    x%hi = x%last
    if (x%tile >= x%tiles) then
      x%lo = x%first + max(0, x%trips) * x%step
    else if (x%cut) then
      call x%hand_out()
    end if
    x%tile = x%tile + 1
  end subroutine advance

  !> Completes the exchange.  False where it was not tiled, and nothing has been sent.
  !!
  !! `ierror`: the first error, if the communicator has an error handler that returns.
  logical function finished(x, send, receive, ierror)
    class(asphalt_exchange_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(inout), optional :: ierror
    type(c_ptr) :: unused

    finished = x%tiled
    if (x%tiled) then
      call x%messages%destination_needed(x%sends, size(x%messages%requests) - x%sends)
      call x%messages%source_volatile(0, x%sends)
      call x%release_all()
      if (associated(x%clone)) then
        unused = memcpy(receive, x%clone, size(x%clone, kind=c_size_t))
        deallocate(x%clone)
      end if
      if (present(ierror)) ierror = x%error
    end if
    call fence(c_loc(send))
    call asphalt_sync(receive)
    if (allocated(x%messages)) deallocate(x%messages)
    x%tiled = .false.
  end function finished

  !> The value of an optional argument.
  pure logical function is_so(given, otherwise)
    logical, intent(in), optional :: given
    logical, intent(in) :: otherwise

    is_so = otherwise
    if (present(given)) is_so = given
  end function is_so

  !> Sets the loop.
  subroutine set_loop(x, last, first, step)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: last
    integer, intent(in), optional :: first, step

    if (present(first)) x%first = first
    x%last = last
    if (present(step)) x%step = step
    x%trips = (last - x%first) * x%step + 1
  end subroutine set_loop

  !> Sets what carries the pieces of an exchange on `comm`.
  subroutine carry(x, comm, backend, site, lasting)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: comm
    procedure(), optional :: backend
    character(*), intent(in), optional :: site
    logical, intent(in), optional :: lasting
    type(offer_t) :: offered

    if (present(backend)) call backend(offered)
    if (.not. allocated(offered%backend)) allocate(offered%backend)
    call move_alloc(offered%backend, x%messages)
    x%messages%owner = comm
    if (present(site)) x%messages%site = site
    x%messages%lasting = is_so(lasting, .false.)
    call x%messages%open()
  end subroutine carry

  !> Keeps the addresses of the buffers, and makes so many slots for pieces on `x%comm`.
  subroutine keep_buffers(x, send, receive, slots)
    class(asphalt_exchange_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(in) :: slots

    x%send = c_loc(send)
    x%receive = c_loc(receive)
    x%messages%comm = x%comm
    allocate(x%messages%requests(slots), source=MPI_REQUEST_NULL)
  end subroutine keep_buffers

  !> Whether the loop fills the blocks: whole planes, and each of them once.  Slabs may have planes
  !! that are final before, even all of them; `enter` knows for how many ranks they are.
  pure logical function fits(x)
    type(asphalt_exchange_t), intent(in) :: x

    fits = .false.
    if (x%unit <= 0 .or. x%count <= 0) return
    if (mod(x%count, x%unit) /= 0) return
    if (x%slab .and. x%windowed) then
      fits = .true.
    else
      fits = x%trips > 0 .and. (x%slab .or. x%windowed .or. x%trips == x%planes)
    end if
  end function fits

  !> Decides whether to tile, and how: sets `x%k`, 0 where not, `x%d`, and the communicator.
  !!
  !! `legal`: the guards of this rank hold; `count`: MPI wants `count` of the data type to be
  !! equally many bytes on all ranks (MPI-3.1 section 5.8), so that this alone may decide, without
  !! asking, that there is too little to gain.
  subroutine enter(x, comm, wanted_k, wanted_d, count, legal, certain, apart, grain, site, &
                   least_k, facts)
    type(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: comm, wanted_k, wanted_d, count
    logical, intent(in) :: legal, certain, apart
    integer, intent(in), optional :: grain, least_k, facts(:)
    character(*), intent(in), optional :: site
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer, allocatable :: known(:)
    integer :: stream, multiple
    logical :: usable, dense, covers

    x%k = 0
    x%d = 1
    multiple = 1
    if (present(grain)) multiple = grain
    call open_exchange(comm, x%comm, x%me, x%np, usable, x%error)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (x%np == 1) return
      if (block_bytes(count, x%datatype) < least_block(x%slab, certain)) return
      call find_companion(comm, carried, x%error)
      if (x%error /= MPI_SUCCESS) return
      if (apart .or. .not. certain) then
        if (too_early(carried, block_bytes(count, x%datatype), certain)) return
      end if
      if (present(site) .and. .not. certain) then
        call recall(carried, site, 0, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(x%datatype, x%bytes, dense, x%error)
    covers = .true.
    if (x%slab) covers = x%before >= 0 .and. merge( &
      int(x%before, int64) + max(0, x%trips) <= int(x%np, int64) * x%planes, &
      x%trips == int(x%np, int64) * x%planes, x%windowed)
    stream = x%trips
    if (x%slab) stream = x%planes
    if (x%error == MPI_SUCCESS .and. dense .and. legal .and. covers) then
      x%k = min(wanted_k, stream)
      x%d = wanted_d
      if (wanted_k <= 0) then
        x%k = chosen_k(x%np, x%slab, .false., int(x%unit, int64) * x%bytes, stream, multiple)
        if (present(least_k) .and. x%k > 0) then
          x%k = max(x%k, least_k)
          if (x%k >= stream) x%k = 0  ! one tile alone hides nothing
        end if
        if (x%slab) x%d = max(x%d, least_slab_depth)
      end if
      if (x%k > 0) x%d = int(max(1_int64, min(int(x%d, int64), tiles(x%slab, x%np, stream, x%k))))
    end if
    if (.not. certain .and. x%np > 1) then
      known = [x%k, x%d, stream, x%unit, count, x%bytes, x%ready, x%messages%number]
      if (present(facts)) known = [known, facts]
      call agree(comm, known, x%k, x%error)
      if (x%k == 0 .and. associated(memory)) memory%resting = patience
    end if
    if (x%k > 0 .and. apart) then
      call private_duplicate(comm, x%comm, .true., usable, x%error)
      if (.not. usable) x%k = 0
    end if
    if (x%k == 0) x%d = 1
    if (x%k > 0) call tell_tiled()
  end subroutine enter

  !> The iterations of the next tile of equal blocks, once the receives of `d` tiles are posted.
  !!
  !! Of slabs, rank r begins with the block of rank r+1, so that not all send to one rank.
  subroutine next_of_equal(x)
    class(asphalt_exchange_t), intent(inout) :: x
    integer :: from, planes, target

    do while (x%posted < min(x%tile + x%d, x%tiles))
      call receive_tile(x, x%posted)
      x%posted = x%posted + 1
    end do
    if (x%slab) then
      call planes_of(x, x%tile, from, planes)
      target = modulo(x%me + 1 + x%tile / x%each, x%np)
      x%lo = x%first - x%before + target * x%planes + from
      x%hi = min(x%lo + planes - 1, x%last)
      x%lo = max(x%lo, x%first)
    else
      from = max(0, x%tile - x%prologue) * x%k
      x%lo = x%first + from * x%step
      x%hi = x%first + (min(from + x%k, x%trips) - 1) * x%step
      if (x%tile < x%prologue) x%hi = x%lo - x%step
    end if
  end subroutine next_of_equal

  !> The planes of a block that a tile sends, in the order of the loop: `from` of them lie before.
  !!
  !! `x%ready` + t `x%k` planes of a block are final before tile t (one less where tile 0 has no
  !! iterations); the last tile sends what is left.
  pure subroutine planes_of(x, tile, from, planes)
    class(asphalt_exchange_t), intent(in) :: x
    integer, intent(in) :: tile
    integer, intent(out) :: from, planes
    integer :: final

    if (x%slab) then
      from = mod(tile, x%each) * x%k
      planes = min(x%k, x%planes - from)
      return
    end if
    final = x%ready + (tile - x%prologue) * x%k
    from = 0
    if (tile > 0) from = min(max(final, 0), x%planes)
    planes = x%planes - from
    if (tile < x%tiles - 1) planes = min(max(final + x%k, 0), x%planes) - from
  end subroutine planes_of

  !> Posts the receives of a tile.
  subroutine receive_tile(x, tile)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: tile
    integer :: from, planes, slot, turn

    call planes_of(x, tile, from, planes)
    if (planes <= 0) return
    if (x%slab) then
      slot = x%d + mod(tile, 2 * x%d) + 1
      call x%start_message(modulo(x%me - 1 - tile / x%each, x%np), from, planes, slot, .false.)
    else
      slot = x%np * (x%d + mod(tile, 2 * x%d))
      do turn = 1, x%np
        call x%start_message(modulo(x%me - turn, x%np), from, planes, slot + turn, .false.)
      end do
    end if
  end subroutine receive_tile

  !> Sends the tile that was computed, once the tile `d` before is through: it takes its slots.
  subroutine send_equal(x)
    class(asphalt_exchange_t), intent(inout) :: x
    integer :: tile, from, planes, width, slot, turn, peer

    tile = x%tile - 1
    width = merge(1, x%np, x%slab)
    call x%messages%destination_needed(width * (x%d + mod(tile + x%d, 2 * x%d)), width)
    slot = width * mod(tile, x%d)
    call x%messages%source_volatile(slot, width)
    call planes_of(x, tile, from, planes)
    if (planes <= 0) return
    if (x%slab) then
      peer = modulo(x%me + 1 + tile / x%each, x%np)
      call x%start_message(peer, from, planes, slot + 1, .true.)
    else
      do turn = 1, x%np
        call x%start_message(modulo(x%me + turn, x%np), from, planes, slot + turn, .true.)
      end do
    end if
  end subroutine send_equal

  !> Starts the message with `planes` planes of the block of `peer`, `from` planes into it.
  subroutine start_equal(x, peer, from, planes, slot, sending)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: peer, from, planes, slot
    logical, intent(in) :: sending
    integer(int64) :: offset

    offset = int(peer, int64) * x%count + planes_before(x, from, planes) * x%unit
    if (sending) then
      call send_piece(x, offset, planes * x%unit, x%datatype, peer, slot)
    else
      call receive_piece(x, offset, planes * x%unit, x%datatype, peer, slot)
    end if
  end subroutine start_equal

  !> The planes of a block that lie in memory before `planes` of them, `from` of which come before
  !! in the order of the loop.
  pure integer(int64) function planes_before(x, from, planes)
    class(asphalt_exchange_t), intent(in) :: x
    integer, intent(in) :: from, planes

    planes_before = from
    if (x%backwards) planes_before = x%planes - from - planes
  end function planes_before

  !> A source is ready: `count` of `datatype` from the element `offset` on, counted from 0.
  subroutine send_piece(x, offset, count, datatype, dest, slot)
    class(asphalt_exchange_t), intent(inout) :: x
    integer(int64), intent(in) :: offset
    integer, intent(in) :: count, datatype, dest, slot
    integer(asphalt_byte), pointer :: byte

    call find(x%send, offset * x%bytes, byte)
    call x%messages%source_ready(byte, count, datatype, dest, slot)
  end subroutine send_piece

  !> A destination is ready.
  subroutine receive_piece(x, offset, count, datatype, source, slot)
    class(asphalt_exchange_t), intent(inout) :: x
    integer(int64), intent(in) :: offset
    integer, intent(in) :: count, datatype, source, slot
    integer(asphalt_byte), pointer :: byte

    call find(x%receive, offset * x%bytes, byte)
    call x%messages%destination_ready(byte, count, datatype, source, slot)
  end subroutine receive_piece

  !> The byte at an address, on a machine with one address space.
  subroutine find(start, offset, byte)
    type(c_ptr), intent(in) :: start
    integer(int64), intent(in) :: offset
    integer(asphalt_byte), pointer, intent(out) :: byte

    call c_f_pointer(transfer(transfer(start, 0_c_intptr_t) + int(offset, c_intptr_t), start), byte)
  end subroutine find

  !> `asphalt_sync` of what begins at an address, for buffers that are not to be changed.
  subroutine fence(start)
    type(c_ptr), intent(in) :: start
    integer(asphalt_byte), pointer :: byte

    call c_f_pointer(start, byte)
    call asphalt_sync(byte)
  end subroutine fence

  !> What the other ranks tell: all is known of equal blocks.
  subroutine nothing_to_hear(x, now)
    class(asphalt_exchange_t), intent(inout) :: x
    logical, intent(in) :: now

    if (now .and. x%tiled) return
  end subroutine nothing_to_hear

  !> Frees what a completed exchange holds.
  subroutine release_messages(x)
    class(asphalt_exchange_t), intent(inout) :: x

    call x%messages%leave()
    if (x%error == MPI_SUCCESS) x%error = x%messages%error
  end subroutine release_messages

  !> Lets MPI work on the messages: MPI_Test on one pending request, which is expected last.
  !!
  !! Testing one costs a few hundredths of a microsecond, testing all of a ring grows with it.  A
  !! test of what is not there yet moves all messages; one of what is there may move none, and has
  !! it taken in now, where the next tile waits, and not at the end, beside the link.  So a request
  !! is tested until it is complete.  Of the requests, no more than a third are those of sends; the
  !! others are for tiles, later ones behind, around a ring of twice as many as are in flight.
  !!
  !! Only some of the calls in a tile test at all: of `k`, or of `times` as many.
  subroutine progress(x, times)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in), optional :: times
    integer :: distance, sends, receives, later, looked_at, request

    if (.not. x%tiled) return
    if (x%tile == 1) then
      call x%hear_of_ranks(.false.)
      if (.not. x%tiled) return
    end if
    distance = 1 + (x%k - 1) / chances_a_tile
    if (present(times)) distance = int(min( &
      1 + (int(x%k, int64) * max(1, times) - 1) / chances_a_tile, int(huge(distance), int64)))
    x%turn = x%turn + 1
    if (mod(x%turn, distance) /= 0) return
    associate (requests => x%messages%requests, error => x%messages%error)
      if (size(requests) == 0) return
      sends = size(requests) / 3
      receives = size(requests) - sends
      if (expected_last < 1 .or. expected_last > receives) expected_last = receives
      later = 0
      do looked_at = 0, receives
        request = 1 + modulo(expected_last - 1 + later - looked_at, receives)
        if (is_pending(requests(sends + request), error)) then
          expected_last = request
          return
        end if
        if (looked_at == 0) later = 1 + receives / 2  ! as many tiles later as are in flight
      end do
      do looked_at = 1, sends
        if (is_pending(requests(looked_at), error)) return
      end do
      if (.not. associated(x%asked)) return
      if (.not. is_pending(x%asked, error)) nullify (x%asked)
    end associate
  end subroutine progress

  !> Tests a request, if it is one: whether it is not complete.
  logical function is_pending(request, ierror)
    integer, intent(inout) :: request, ierror
    logical :: done
    integer :: error

    is_pending = .false.
    if (request == MPI_REQUEST_NULL) return
    call MPI_Test(request, done, MPI_STATUS_IGNORE, error)
    if (ierror == MPI_SUCCESS) ierror = error
    is_pending = .not. done
    if (done) request = MPI_REQUEST_NULL
  end function is_pending

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
    character(4096) :: name
    integer :: status, unit

    if (told) return
    told = .true.
    call get_environment_variable('ASPHALT_TILED', name, status=status)
    if (status /= 0 .or. name == '') return
    open(newunit=unit, file=name, iostat=status)
    if (status == 0) close(unit)
  end subroutine tell_tiled

  !> The number of ranks of `comm`; 1 where the exchange is not going to be tiled anyway.
  integer function ranks(comm)
    integer, intent(in) :: comm
    integer :: own, me, ierror
    logical :: usable

    call open_exchange(comm, own, me, ranks, usable, ierror)
  end function ranks
end module asphalt_exchange
