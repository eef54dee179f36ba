! An exchange of blocks to which an iteration adds different numbers of elements, in tiles: one that
! a program packs for MPI_ALLTOALLV (MPI-4.0 section 6.8), or whose messages it sends itself.
!
! For transformed code
!   asphalt_packed_t   the exchange while it is going on.  Bound to it are what is bound to
!                      asphalt_exchange_t (asphalt_exchange), and
!     begin_packed     begins it, as `begin` does for equal blocks: the ranks agree about the
!                      lengths of the blocks, whether to tile, and how the pieces are cut
!     place            where the elements begin that the iterations of a tile add to a block
module asphalt_packed
  use asphalt_core, only: asphalt_byte, int64, is_dense
  use asphalt_communicators, only: companion, find_companion, private_duplicate, recall, &
                                   site_memory
  use asphalt_choice, only: chosen_k, over
  use asphalt_exchange, only: asphalt_exchange_t, carry, enter_loop, keep_buffers, &
                              open_exchange, receive_piece, send_piece, set_loop, tell_tiled
  use asphalt_pieces, only: kibibytes, least_uneven_block, most_elements, posts_of
  use mpi, only: MPI_INTEGER, MPI_MAX, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_packed_t

  !> Up to so many ranks tell each other all that they know; more of them tell each its own part.
  integer, parameter :: few_ranks = 64

  !> An exchange of such blocks that is going on.  Blocks are counted from 1 here.
  type, extends(asphalt_exchange_t) :: asphalt_packed_t
    private
    integer, allocatable :: units(:), send_counts(:), send_displacements(:)
  contains
    procedure :: begin_packed, place
    procedure :: hand_out => next_of_packed
    procedure :: send_pieces => send_packed
  end type asphalt_packed_t

contains

  !> Begins one exchange of blocks to which an iteration adds different numbers of elements.
  !!
  !! A tile is K iterations, the same number on all ranks; a piece of the block for rank p is what
  !! they add to it, K times `units(p)` elements, the last one shorter.  Sender and receiver tell
  !! each other here what they know of the block, which they have to agree about: where the program
  !! sends the messages itself, a receive may be longer than its message, or be for one of another
  !! time.  Where no rank knows anything else than when they last agreed, that is all they tell.
  !!
  !! `comm`, `datatype`, `bytes`, `first`, `last`, `k`, `d`, `grain`, `tiled`, `alone`, `site`,
  !! `backend`, `lasting` and `entered`: as for `begin` of equal blocks; both buffers with their
  !! counts and displacements: as for `begin_uneven` of asphalt_uneven; without `send_counts`, what
  !! all iterations add to the blocks is sent.  `ranks`, `rank`: what the program takes for the
  !! number of ranks and for this one, which must be so for the exchange to be tiled.  The lists are
  !! only looked at if all of this holds.  `units`: elements that one iteration of this rank adds to
  !! the block for each rank.  `spread`: if present and not 0, the blocks begin at multiples of so
  !! many elements; else they lie one behind the other, each filled by all iterations.  `tag`: of
  !! all messages, which nothing else of the program can meet on `comm` itself.
  !!
  !! An exchange that is not tiled once is never tiled again on this communicator: nobody has looked
  !! at what became of the messages of the entries between.
  subroutine begin_packed(x, comm, send, send_displacements, receive, receive_counts, &
                          receive_displacements, datatype, bytes, units, last, k, d, site, &
                          send_counts, first, spread, grain, tiled, alone, tag, ranks, rank, &
                          backend, lasting, entered)
    class(asphalt_packed_t), intent(out) :: x
    integer, intent(in) :: comm, datatype, bytes, last, k, d
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(in) :: send_displacements(0:*), receive_counts(0:*)
    integer, intent(in) :: receive_displacements(0:*), units(0:*)
    integer, intent(in), optional :: send_counts(0:*)
    character(*), intent(in) :: site
    integer, intent(in), optional :: first, spread, grain, tag, ranks, rank
    logical, intent(in), optional :: tiled, alone, lasting, entered
    procedure(), optional :: backend
    integer, allocatable :: cuts(:), counts(:)
    integer :: apart, multiple, slot, turn, peer, from
    logical :: legal, own, usable

    call carry(x, comm, backend, site, lasting)
    call set_loop(x, last, first)
    x%datatype = datatype
    x%bytes = bytes
    if (present(tag)) x%messages%tag = tag
    apart = 0
    if (present(spread)) apart = spread
    multiple = 1
    if (present(grain)) multiple = grain
    legal = .true.
    if (present(tiled)) legal = tiled
    own = .not. present(tag)
    if (present(alone)) own = .not. alone
    own = own .or. x%messages%apart
    call open_exchange(comm, x%comm, x%me, x%np, usable, x%error)
    if (present(ranks)) legal = legal .and. ranks == x%np
    if (present(rank)) legal = legal .and. rank == x%me
    allocate(counts(x%np), source=0)
    if (legal .and. present(send_counts)) then
      counts = send_counts(:x%np-1)
    else if (legal) then
      counts = int(min(int(units(:x%np-1), int64) * max(0, x%trips), most_elements + 1))
    end if
    call enter_packed(x, comm, usable, datatype, bytes, units, x%trips, multiple, k, d, legal, &
                      counts, send_displacements, receive_counts, receive_displacements, &
                      apart, own, cuts, site)
    x%tiled = x%k > 0
    x%cut = x%tiled
    if (.not. x%tiled) then
      call enter_loop(x, entered)
      return
    end if
    x%tiles = max(1, (x%trips + x%k - 1) / x%k)
    x%units = units(:x%np-1)
    call move_alloc(counts, x%send_counts)
    x%send_displacements = send_displacements(:x%np-1)
    x%sends = x%np * x%d
    call keep_buffers(x, send, receive, x%sends + posts_of(receive_counts, x%np, cuts))
    slot = x%sends
    do turn = 1, x%np
      peer = modulo(x%me - turn, x%np)
      ! both know the length of a block, and how the sender cuts it
      do from = 0, receive_counts(peer) - 1, cuts(peer)
        slot = slot + 1
        call receive_piece(x, int(receive_displacements(peer), int64) + from, &
                           min(cuts(peer), receive_counts(peer) - from), datatype, peer, slot)
      end do
    end do
    call enter_loop(x, entered)
  end subroutine begin_packed

  !> The iterations of the next tile.
  subroutine next_of_packed(x)
    class(asphalt_packed_t), intent(inout) :: x

    x%lo = x%first + x%tile * x%k
    x%hi = min(x%lo + x%k - 1, x%last)
  end subroutine next_of_packed

  !> Sends the pieces of the tile that was computed.
  subroutine send_packed(x)
    class(asphalt_packed_t), intent(inout) :: x
    integer :: slot, turn, peer, from, count

    slot = x%np * mod(x%tile - 1, x%d)
    call x%messages%source_volatile(slot, x%np)
    do turn = 1, x%np
      peer = modulo(x%me + turn, x%np)
      from = (x%tile - 1) * x%k * x%units(peer+1)
      count = min(x%k * x%units(peer+1), x%send_counts(peer+1) - from)
      if (count > 0) call send_piece(x, int(x%send_displacements(peer+1), int64) + from, count, &
                                     x%datatype, peer, slot + turn)
    end do
  end subroutine send_packed

  !> The elements of the send buffer in front of those that the iterations from `lo` on add to the
  !! block of `rank`.
  pure integer function place(x, rank, lo)
    class(asphalt_packed_t), intent(in) :: x
    integer, intent(in) :: rank, lo

    place = x%send_displacements(rank+1) + x%units(rank+1) * (lo - x%first)
  end function place

  !> Decides whether to tile, and how: sets `x%k`, 0 on all ranks where not, else no more than the
  !! iterations of this rank, or 1; `x%d`; and the communicator, one of its own if `apart`.
  !!
  !! `cuts`: the elements of the pieces that come from each rank, at least 1 if `x%k` is.
  subroutine enter_packed(x, comm, usable, datatype, bytes, units, trips, grain, wanted_k, &
                          wanted_d, legal, scounts, sdispls, rcounts, rdispls, spread, apart, &
                          cuts, site)
    type(asphalt_packed_t), intent(inout) :: x
    integer, intent(in) :: comm, datatype, bytes, trips, grain, wanted_k, wanted_d, spread
    logical, intent(in) :: usable, legal, apart
    integer, intent(in) :: units(0:*), scounts(0:*), sdispls(0:*), rcounts(0:*), rdispls(0:*)
    integer, allocatable, intent(out) :: cuts(:)
    character(*), intent(in) :: site
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer, allocatable :: mine(:)
    logical :: fits

    x%k = 0
    x%d = 1
    allocate(cuts(0:x%np-1), source=0)
    if (.not. usable .or. (x%np == 1 .and. wanted_k <= 0)) return
    call find_companion(comm, carried, x%error)
    if (x%error /= MPI_SUCCESS) return
    call recall(carried, site, 0, memory)
    if (memory%resting > 0) return

    mine = [datatype, bytes, trips, spread, merge(1, 0, legal), x%messages%number]
    if (legal) mine = [mine, units(:x%np-1), scounts(:x%np-1), sdispls(:x%np-1), rcounts(:x%np-1), &
                       rdispls(:x%np-1)]
    if (allocated(memory%told)) then  ! on all ranks or on none
      fits = size(mine) == size(memory%told)
      if (fits) fits = all(mine == memory%told)
      fits = so_on_all(comm, x%np, fits, x%error)
      if (fits) then
        cuts = memory%cuts
      else
        deallocate(memory%told)
      end if
    end if
    if (.not. allocated(memory%told)) then
      call agree_on_blocks(comm, x%np, x%me, datatype, bytes, units, trips, grain, wanted_k, &
                           legal, scounts, sdispls, rcounts, rdispls, spread, x%messages%number, &
                           memory%k, cuts, x%error)
      fits = memory%k > 0
    end if
    if (fits .and. apart) call private_duplicate(comm, x%comm, wanted_k <= 0, fits, x%error)
    if (.not. fits) then
      memory%resting = 1
      cuts = 0
      return
    end if
    memory%told = mine
    memory%cuts = cuts
    x%k = min(memory%k, max(1, trips))
    x%d = min(max(1, wanted_d), int(over(int(max(1, trips), int64), int(x%k, int64))))
    call tell_tiled()
  end subroutine enter_packed

  !> Whether a condition holds on all ranks.
  logical function so_on_all(comm, np, here, ierror)
    integer, intent(in) :: comm, np
    logical, intent(in) :: here
    integer, intent(inout) :: ierror
    integer :: mine(1), told(np), failed

    mine = merge(0, 1, here)
    told = mine(1)
    failed = MPI_SUCCESS
    if (np > few_ranks) then
      call MPI_Allreduce(mine, told, 1, MPI_INTEGER, MPI_MAX, comm, failed)
      told = told(1)
    else if (np > 1) then
      call MPI_Allgather(mine, 1, MPI_INTEGER, told, 1, MPI_INTEGER, comm, failed)
    end if
    if (ierror == MPI_SUCCESS) ierror = failed
    so_on_all = failed == MPI_SUCCESS .and. all(told == 0)
  end function so_on_all

  !> What all ranks come to about K, 0 where they do not tile, and the pieces that come from each.
  subroutine agree_on_blocks(comm, np, me, datatype, bytes, units, trips, grain, wanted_k, legal, &
                             scounts, sdispls, rcounts, rdispls, spread, number, k, cuts, ierror)
    integer, intent(in) :: comm, np, me, datatype, bytes, trips, grain, wanted_k, spread, number
    logical, intent(in) :: legal
    integer, intent(in) :: units(0:*), scounts(0:*), sdispls(0:*), rcounts(0:*), rdispls(0:*)
    integer, intent(out) :: k, cuts(0:np-1)
    integer, intent(inout) :: ierror
    integer, parameter :: facts = 7
    integer :: known(facts), common(facts), theirs(0:np-1), largest, failed
    logical :: dense, fits

    call is_dense(datatype, bytes, dense, ierror)
    fits = ierror == MPI_SUCCESS .and. dense .and. legal
    if (fits) fits = packed_fit(np, units, trips, scounts, sdispls, spread) .and. &
      apart_from_each_other(np, rcounts, rdispls)
    largest = 0
    if (fits) largest = maxval(units(:np-1))
    k = wanted_k
    if (wanted_k <= 0) k = chosen_k(np, .false., .true., int(largest, int64) * bytes, trips, grain)
    known = [merge(0, 1, fits), k, kibibytes(trips, largest, bytes), bytes, -bytes, &
             number, -number]
    if (np <= few_ranks) then
      call tell_all(comm, np, me, known, units, scounts, rcounts, common, theirs, failed)
    else
      call tell_each(comm, np, known, units, scounts, rcounts, common, theirs, failed)
    end if
    if (ierror == MPI_SUCCESS) ierror = failed
    k = common(2)
    fits = failed == MPI_SUCCESS .and. common(1) == 0 .and. common(4) == -common(5) &
      .and. common(6) == -common(7)
    if (wanted_k <= 0) fits = fits .and. common(3) >= least_uneven_block / 1024
    if (.not. fits) k = 0
    cuts = 0
    if (k > 0) cuts = max(1, int(min(int(k, int64) * theirs, most_elements)))
  end subroutine agree_on_blocks

  !> All ranks get what all know.  `known(1)` is 0 on ranks whose lists may be looked at; `common`:
  !! the greatest of each of `known`, `common(1)` not 0, too, where a block is longer for its sender
  !! than for its receiver or the other way round.  `theirs`: the `units` of all others for this
  !! one.
  subroutine tell_all(comm, np, me, known, units, scounts, rcounts, common, theirs, ierror)
    integer, intent(in) :: comm, np, me, known(:), units(0:*), scounts(0:*), rcounts(0:*)
    integer, intent(out) :: common(:), theirs(0:np-1), ierror
    integer :: mine(size(known) + 3*np), told(size(known) + 3*np, 0:np-1), facts, rank, other

    facts = size(known)
    mine = 0
    mine(:facts) = known
    if (known(1) == 0) mine(facts+1:) = [units(:np-1), scounts(:np-1), rcounts(:np-1)]
    told = spread(mine, 2, np)
    ierror = MPI_SUCCESS
    if (np > 1) call MPI_Allgather(mine, size(mine), MPI_INTEGER, told, size(mine), MPI_INTEGER, &
                                   comm, ierror)
    common = maxval(told(:facts,:), 2)
    theirs = told(facts+me+1,:)
    do rank = 0, np - 1
      do other = 0, np - 1
        if (told(facts+np+other+1,rank) /= told(facts+2*np+rank+1,other)) common(1) = 1
      end do
    end do
  end subroutine tell_all

  !> The same where each rank gets its part alone.
  subroutine tell_each(comm, np, known, units, scounts, rcounts, common, theirs, ierror)
    integer, intent(in) :: comm, np, known(:), units(0:*), scounts(0:*), rcounts(0:*)
    integer, intent(out) :: common(:), theirs(0:np-1), ierror
    integer :: told(2, 0:np-1), heard(2, 0:np-1), checked(size(known)), failed

    told = 0
    if (known(1) == 0) then
      told(1,:) = units(:np-1)
      told(2,:) = scounts(:np-1)
    end if
    heard = told
    call MPI_Alltoall(told, 2, MPI_INTEGER, heard, 2, MPI_INTEGER, comm, failed)
    theirs = heard(1,:)
    checked = known
    if (known(1) == 0) checked(1) = merge(0, 1, all(heard(2,:) == rcounts(:np-1)))
    call MPI_Allreduce(checked, common, size(known), MPI_INTEGER, MPI_MAX, comm, ierror)
    if (ierror == MPI_SUCCESS) ierror = failed
  end subroutine tell_each

  !> Whether the blocks that a rank sends are where its iterations put them
  !! (`begin_packed`).
  pure logical function packed_fit(np, units, trips, counts, displs, spread) result(fit)
    integer, intent(in) :: np, units(0:*), trips, counts(0:*), displs(0:*), spread
    integer(int64) :: filled, block
    integer :: p

    fit = .false.
    filled = 0
    do p = 0, np - 1
      if (units(p) < 0 .or. counts(p) < 0) return
      block = int(units(p), int64) * max(0, trips)
      if (counts(p) > block .or. block > most_elements) return
      if (spread == 0) then
        if (block > 0 .and. displs(p) /= filled) return
        filled = filled + block
        if (filled > most_elements) return
      else if (counts(p) > 0) then
        if (spread < 0 .or. displs(p) < 0 .or. counts(p) > spread) return
        if (mod(displs(p), spread) /= 0) return
      end if
    end do
    fit = .true.
  end function packed_fit

  !> Whether no element is received twice: then it does not matter which message comes first.
  pure logical function apart_from_each_other(np, counts, displs) result(apart)
    integer, intent(in) :: np, counts(0:np-1), displs(0:np-1)
    integer :: p, end

    apart = all(counts >= 0)
    do p = 0, np - 1
      if (.not. apart) return
      if (counts(p) == 0) cycle
      end = displs(p) + counts(p)
      apart = displs(p) >= 0 .and. displs(p) <= most_elements .and. counts(p) <= most_elements
      apart = apart .and. &
        count(counts > 0 .and. displs < end .and. displs(p) < displs + counts) == 1
    end do
  end function apart_from_each_other
end module asphalt_packed
