! An exchange of blocks of different lengths (MPI_ALLTOALLV, MPI-4.0 section 6.8) in tiles.
!
! For transformed code
!   asphalt_uneven_t   the exchange while it is going on.  Bound to it are what is bound to
!                      asphalt_exchange_t (asphalt_exchange), and
!     begin_uneven     begins it, as `begin` does for equal blocks; each rank tells the others how
!                      it cuts what it sends
!
! Both sender and receiver know the number of elements of a block.  Both cut it into pieces of as
! many elements as the sender computes in K iterations, which it tells all others.  If the header
! sets K, the others receive this number during their first tile, which hides the transfer, or wait
! for it behind that tile; if K is chosen, at the beginning.  Then they post all receives at once: a
! rank with a shorter first tile may send to one that still computes its own.
module asphalt_uneven
  use asphalt_core, only: asphalt_byte, int64, is_dense
  use asphalt_communicators, only: companion, find_companion, private_duplicate, recall, &
                                   site_memory
  use asphalt_choice, only: chosen_k, least_slab_depth, patience
  use asphalt_exchange, only: asphalt_exchange_t, carry, enter_loop, keep_buffers, &
                              open_exchange, receive_piece, send_piece, set_loop, tell_tiled
  use asphalt_pieces, only: first_patience, iterations_for, kibibytes, least_uneven_block, &
                            least_uneven_slab, most_elements, most_pieces, next_piece, pieces_of, &
                            posts_of
  use mpi, only: MPI_INTEGER, MPI_REQUEST_NULL, MPI_STATUS_SIZE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_uneven_t

  !> Numbers that ranks tell each other about blocks of different lengths.
  integer, parameter :: cut_facts = 5

  !> What all ranks tell each other on entry of an exchange of blocks of different lengths, for
  !! `hear`, which hears it while this rank may already compute.
  type :: answers_t
    !> What this rank tells, and what all of them told; MPI works on both until `request` is
    !! complete.
    integer, pointer :: mine(:) => null(), told(:) => null()
    integer, pointer :: request => null()
    !> What came of it: the elements of the pieces of each rank, all 0 where the exchange is not
    !! tiled.  Not allocated: nobody has told yet, or all is known already.
    integer, allocatable :: cuts(:)
    integer :: np
  end type answers_t

  !> An exchange of blocks of different lengths that is going on.
  type, extends(asphalt_exchange_t) :: asphalt_uneven_t
    private
    integer, allocatable :: send_counts(:), send_displacements(:)
    integer, allocatable :: receive_counts(:), receive_displacements(:)
    !> Elements of a piece of this rank.
    integer :: piece = 0
    !> The piece of a slab that the tile computes: `length` elements, `from` elements into the block
    !! of `peer`.
    integer :: peer = 0, from = 0, length = 0
    type(answers_t) :: answers
  contains
    procedure :: begin_uneven
    procedure :: hand_out => next_of_uneven
    procedure :: send_pieces => send_uneven
    procedure :: hear_of_ranks => hear_of_others
  end type asphalt_uneven_t

contains

  !> Begins one exchange of blocks of different lengths (MPI_ALLTOALLV).
  !!
  !! What a rank sends to another is cut into pieces of as many elements as the sender computes in
  !! `k` iterations, the last one shorter.  Both know how long it is (`send_counts` of the one,
  !! `receive_counts` of the other), and each rank tells here all others how long its pieces are,
  !! and whether it can tile at all.  Where the header says `k`, the ranks compute their first tile
  !! before they hear of each other.
  !!
  !! `comm`, `datatype`, `bytes`, `first`, `last`, `k`, `d`, `grain`, `tiled`, `alone`, `site`,
  !! `backend`, `lasting` and `entered`: as for `begin` of equal blocks; both buffers with their
  !! counts and displacements: of the call.  `unit`: elements that one iteration of this rank adds
  !! to a block.  `slab`: the iterations fill the blocks one after the other; else they fill all of
  !! them at once, and the blocks begin at multiples of `spread` elements.
  subroutine begin_uneven(x, comm, send, send_counts, send_displacements, receive, &
                          receive_counts, receive_displacements, datatype, bytes, unit, last, k, &
                          d, first, slab, spread, grain, tiled, alone, site, backend, lasting, &
                          entered)
    class(asphalt_uneven_t), intent(out) :: x
    integer, intent(in) :: comm, datatype, bytes, unit, last, k, d
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(in) :: send_counts(0:*), send_displacements(0:*)
    integer, intent(in) :: receive_counts(0:*), receive_displacements(0:*)
    integer, intent(in), optional :: first, spread, grain
    logical, intent(in), optional :: slab, tiled, alone, lasting, entered
    character(*), intent(in), optional :: site
    procedure(), optional :: backend
    integer :: apart, multiple, iterations
    logical :: legal, own

    call carry(x, comm, backend, site, lasting)
    call set_loop(x, last, first)
    x%datatype = datatype
    x%bytes = bytes
    x%unit = unit
    if (present(slab)) x%slab = slab
    legal = .true.
    if (present(tiled)) legal = tiled
    own = .true.
    if (present(alone)) own = x%messages%apart .or. .not. alone
    apart = 0
    if (present(spread)) apart = spread
    multiple = 1
    if (present(grain)) multiple = grain
    call enter_uneven(x, comm, datatype, bytes, unit, x%trips, multiple, k, d, legal, send_counts, &
                      send_displacements, receive_counts, x%slab, apart, own, iterations, site)
    x%k = max(1, iterations)
    x%cut = iterations > 0
    x%tiled = x%cut
    if (.not. x%cut) then
      call enter_loop(x, entered)
      return
    end if
    x%send_counts = send_counts(:x%np-1)
    x%send_displacements = send_displacements(:x%np-1)
    x%receive_counts = receive_counts(:x%np-1)
    x%receive_displacements = receive_displacements(:x%np-1)
    x%sends = x%d
    if (x%slab) then
      x%tiles = pieces_of(send_counts, x%np, x%piece)
      x%cut = x%tiles > 0
      ! rank r begins with the block of rank r+1, so that not all send to one rank
      x%peer = x%me
      x%length = send_counts(x%me)
    else
      x%tiles = most_pieces(send_counts, x%np, x%piece)
      x%sends = x%np * x%d
    end if
    x%tiles = max(1, x%tiles)
    call keep_buffers(x, send, receive, x%sends)
    call hear_of_others(x, .false.)
    call enter_loop(x, entered)
  end subroutine begin_uneven

  !> The iterations of the next tile: slabs go on with the next piece of a block, and what computes
  !! it; else a tile is a piece of every block that is long enough, and the last one computes the
  !! rest.
  subroutine next_of_uneven(x)
    class(asphalt_uneven_t), intent(inout) :: x
    integer :: begin, end

    if (x%slab) then
      call next_piece(x%send_counts, x%np, x%piece, x%peer, x%from, x%length)
      begin = x%send_displacements(x%peer+1) + x%from
      x%lo = x%first + iterations_for(begin, x%unit)
      x%hi = x%first + iterations_for(begin + x%length, x%unit) - 1
    else
      end = max(x%first, x%last + 1)
      x%from = x%tile * x%piece
      x%lo = min(x%first + iterations_for(x%from, x%unit), end)
      x%hi = min(x%first + iterations_for(x%from + x%piece, x%unit), end) - 1
      if (x%tile == x%tiles - 1) x%hi = x%last
    end if
  end subroutine next_of_uneven

  !> Sends the piece, or the pieces, of the tile that was computed.
  subroutine send_uneven(x)
    class(asphalt_uneven_t), intent(inout) :: x
    integer :: slot, turn, peer, count

    if (.not. x%cut) return
    if (x%slab) then
      slot = mod(x%tile - 1, x%d)
      call x%messages%source_volatile(slot, 1)
      call send_piece(x, int(x%send_displacements(x%peer+1), int64) + x%from, x%length, &
                      x%datatype, x%peer, slot + 1)
      return
    end if
    slot = x%np * mod(x%tile - 1, x%d)
    call x%messages%source_volatile(slot, x%np)
    do turn = 1, x%np
      peer = modulo(x%me + turn, x%np)
      count = min(x%piece, x%send_counts(peer+1) - x%from)
      if (count > 0) call send_piece(x, int(x%send_displacements(peer+1), int64) + x%from, count, &
                                     x%datatype, peer, slot + turn)
    end do
  end subroutine send_uneven

  !> Hears what the other ranks told on entry, and posts all receives.
  !!
  !! `now`: this rank has computed its first tile, and waits for the others; before, receives are
  !! only posted where all is known, at once or since `progress` found it there.  The
  !! requests of the receives are added behind those of the sends, none of which is started yet.
  !! `x%tiled` becomes false, on all ranks, where one of them cannot tile.
  subroutine hear_of_others(x, now)
    class(asphalt_uneven_t), intent(inout) :: x
    logical, intent(in) :: now
    integer :: most, slot, turn, peer, from

    if (.not. x%tiled) return
    if (associated(x%answers%told)) then
      ! progress tests the request
      if (.not. now .and. x%answers%request /= MPI_REQUEST_NULL) return
      nullify (x%asked)
      call take_cuts(x%answers, .false., most, x%error)
    end if
    if (.not. allocated(x%answers%cuts)) return
    x%tiled = x%answers%cuts(0) > 0
    if (x%tiled) then
      call tell_tiled()
      deallocate(x%messages%requests)
      allocate(x%messages%requests(x%sends &
                                   + posts_of(x%receive_counts, x%np, x%answers%cuts)), &
               source=MPI_REQUEST_NULL)
      slot = x%sends
      do turn = 1, x%np
        peer = modulo(x%me - turn, x%np)
        ! both know the length of a block, and how the sender cuts it
        associate (length => x%receive_counts(peer+1), cut => x%answers%cuts(peer))
          do from = 0, length - 1, cut
            slot = slot + 1
            call receive_piece(x, int(x%receive_displacements(peer+1), int64) + from, &
                               min(cut, length - from), x%datatype, peer, slot)
          end do
        end associate
      end do
    end if
    deallocate(x%answers%cuts)
  end subroutine hear_of_others

  !> Decides whether to tile, and how: sets `x%d`, the communicator, and the elements of a piece.
  !!
  !! `k`: iterations in which this rank computes a piece, at least 1; 0: this rank does not tile,
  !! and so none will.  `apart`: the messages need a private communicator.
  subroutine enter_uneven(x, comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d, &
                          legal, scounts, sdispls, rcounts, slab, spread, apart, k, site)
    type(asphalt_uneven_t), intent(inout) :: x
    integer, intent(in) :: comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d
    logical, intent(in) :: legal, slab, apart
    integer, intent(in) :: scounts(0:*), sdispls(0:*), rcounts(0:*), spread
    integer, intent(out) :: k
    character(*), intent(in), optional :: site
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer :: longest, chosen, most
    logical :: usable, dense, fits

    k = 0
    x%d = 1
    call open_exchange(comm, x%comm, x%me, x%np, usable, x%error)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (x%np == 1) return
      call find_companion(comm, carried, x%error)
      if (x%error /= MPI_SUCCESS) return
      if (present(site)) then
        call recall(carried, site, first_patience, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(datatype, bytes, dense, x%error)
    fits = x%error == MPI_SUCCESS .and. dense .and. legal .and. all(rcounts(:x%np-1) >= 0) &
      .and. blocks_fit(x%np, elements, trips, scounts, sdispls, slab, spread)
    longest = 0
    if (fits .and. elements > 0) longest = iterations_for(maxval(scounts(:x%np-1)), elements)
    chosen = min(wanted_k, longest)
    if (wanted_k <= 0) &
      chosen = chosen_k(x%np, slab, .true., int(elements, int64) * bytes, longest, grain)
    x%piece = int(min(int(merge(chosen, longest, chosen > 0), int64) * elements, most_elements))
    if (wanted_k > 0) then
      ! a duplicate that was made in vain is made once
      if (apart) call private_duplicate(comm, x%comm, .false., fits, x%error)
      call tell(x%answers, x%comm, x%np, &
                [chosen, x%piece, merge(bytes, 0, fits), 0, x%messages%number], .true., x%error)
      x%asked => x%answers%request
      x%piece = merge(max(1, x%piece), 0, fits)
      if (.not. fits) x%comm = comm
    else
      call tell(x%answers, comm, x%np, [chosen, x%piece, merge(bytes, 0, fits), &
                kibibytes(longest, elements, bytes), x%messages%number], .false., x%error)
      call take_cuts(x%answers, .true., most, x%error)
      if (most < merge(least_uneven_slab, least_uneven_block, slab) / 1024) x%answers%cuts = 0
      if (associated(memory) .and. x%answers%cuts(0) == 0) memory%resting = patience
      fits = .true.
      if (x%answers%cuts(0) > 0 .and. apart) &
        call private_duplicate(comm, x%comm, .true., fits, x%error)
      if (.not. fits) x%answers%cuts = 0
      x%piece = x%answers%cuts(x%me)
    end if
    if (x%piece == 0) then
      nullify (x%asked)
      if (associated(x%answers%told)) call take_cuts(x%answers, .false., most, x%error)
      deallocate(x%answers%cuts)
      return
    end if
    k = max(1, iterations_for(x%piece, elements))
    x%d = max(1, wanted_d)
    if (slab .and. wanted_k <= 0) x%d = max(x%d, least_slab_depth)
    x%d = min(x%d, max(1, pieces_of(scounts, x%np, x%piece)))
  end subroutine enter_uneven

  !> Tells all ranks of `comm` how this one cuts what it sends; `later`: only begins to.
  !!
  !! `mine`: iterations of a piece, 0 where this rank would not cut; their elements; bytes of an
  !! element, 0 where this rank cannot tile; KiB of its longest block; what carries its pieces.
  subroutine tell(answers, comm, np, mine, later, ierror)
    type(answers_t), intent(inout) :: answers
    integer, intent(in) :: comm, np, mine(cut_facts)
    logical, intent(in) :: later
    integer, intent(inout) :: ierror
    integer :: rank, failed

    answers%np = np
    allocate(answers%mine(cut_facts), answers%told(cut_facts * np))
    answers%mine = mine
    answers%told = [(mine, rank = 1, np)]
    allocate(answers%request, source=MPI_REQUEST_NULL)
    if (np == 1) return  ! SMPI does not survive it
    if (later) then
      call MPI_Iallgather(answers%mine(1), cut_facts, MPI_INTEGER, answers%told(1), cut_facts, &
                          MPI_INTEGER, comm, answers%request, failed)
    else
      call MPI_Allgather(answers%mine, cut_facts, MPI_INTEGER, answers%told, cut_facts, &
                         MPI_INTEGER, comm, failed)
    end if
    if (failed /= MPI_SUCCESS) answers%told = 0
    if (ierror == MPI_SUCCESS) ierror = failed
  end subroutine tell

  !> Takes what all ranks told.
  !!
  !! `alike`: all ranks are to have the longest pieces of those that would cut.  `answers%cuts`: the
  !! elements of the pieces of each rank, at least 1; all 0 where some rank cannot tile, or none
  !! would cut.  `most`: the KiB of the longest block of all.
  subroutine take_cuts(answers, alike, most, ierror)
    type(answers_t), intent(inout) :: answers
    logical, intent(in) :: alike
    integer, intent(out) :: most
    integer, intent(inout) :: ierror
    integer :: unused(MPI_STATUS_SIZE), failed

    failed = MPI_SUCCESS
    if (answers%request /= MPI_REQUEST_NULL) &
      call MPI_Wait(answers%request, unused, failed)
    deallocate(answers%request)
    if (failed /= MPI_SUCCESS) answers%told = 0
    if (ierror == MPI_SUCCESS) ierror = failed
    allocate(answers%cuts(0:answers%np-1), source=0)
    associate (told => answers%told, bytes => answers%mine(3), number => answers%mine(5))
      most = maxval(told(4::cut_facts))
      if (bytes > 0 .and. all(told(3::cut_facts) == bytes) .and. any(told(1::cut_facts) > 0) &
          .and. all(told(5::cut_facts) == number)) then
        answers%cuts = max(1, told(2::cut_facts))
        if (alike) answers%cuts = maxval(answers%cuts, told(1::cut_facts) > 0)
      end if
    end associate
    deallocate(answers%mine, answers%told)
  end subroutine take_cuts

  !> Whether the blocks that a rank sends are where the iterations put them.
  !!
  !! Slab: they lie one behind the other, in the order of the ranks, are whole iterations, and
  !! there is nothing else that the iterations write.  Otherwise: each lies in one of the blocks of
  !! `spread` elements, from its beginning.
  pure logical function blocks_fit(np, elements, trips, counts, displs, slab, spread) result(fit)
    integer, intent(in) :: np, elements, trips, counts(0:*), displs(0:*), spread
    logical, intent(in) :: slab
    integer(int64) :: filled
    integer :: p

    fit = .false.
    filled = 0
    do p = 0, np - 1
      if (counts(p) == 0) cycle
      if (counts(p) < 0 .or. elements <= 0) return
      if (slab) then
        if (mod(counts(p), elements) /= 0 .or. displs(p) /= filled) return
        filled = filled + counts(p)
      else
        if (spread <= 0 .or. displs(p) < 0 .or. counts(p) > spread) return
        if (mod(displs(p), spread) /= 0) return
        filled = max(filled, int(counts(p), int64))
      end if
    end do
    if (filled > most_elements) return
    fit = .true.
    if (slab) fit = filled == int(elements, int64) * max(0, trips)
  end function blocks_fit
end module asphalt_uneven
