! An exchange of blocks of different lengths (MPI_ALLTOALLV, MPI-4.0 section 6.8) in tiles.
!
! For transformed code
!   asphalt_enter_uneven   is called once before the tiles, as asphalt_enter is for equal blocks;
!                          each rank tells the others how it cuts what it sends
!   asphalt_hear           is called once before the first tile and once behind it: hears what the
!                          others told, and posts the receives
!   asphalt_answers        the type of what they tell each other
!
! The pieces and their messages are those of asphalt_pieces, `asphalt_progress` is that of
! asphalt_exchange.
module asphalt_uneven
  use asphalt_core, only: int64, is_dense
  use asphalt_communicators, only: companion, find_companion, private_duplicate, recall, &
                                   site_memory
  use asphalt_choice, only: chosen_k, first_patience, kibibytes, least_slab_depth, &
                            least_uneven_block, least_uneven_slab, patience
  use asphalt_exchange, only: asked, open_exchange, tell_tiled
  use asphalt_pieces, only: asphalt_irecv_at, asphalt_iterations, asphalt_pieces_of, &
                            asphalt_posts_of, most_elements
  use mpi, only: MPI_INTEGER, MPI_REQUEST_NULL, MPI_STATUS_SIZE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_enter_uneven, asphalt_hear, asphalt_answers

  !> Numbers that ranks tell each other about blocks of different lengths.
  integer, parameter :: cut_facts = 4

  !> What all ranks tell each other on entry of an exchange of blocks of different lengths, for
  !! `asphalt_hear`, which hears it while this rank may already compute.
  type :: asphalt_answers
    private
    !> What this rank tells, and what all of them told; MPI works on both until `request` is
    !! complete.
    integer, pointer :: mine(:) => null(), told(:) => null()
    integer, pointer :: request => null()
    !> What came of it: the elements of the pieces of each rank, all 0 where the exchange is not
    !! tiled.  Not allocated: nobody has told yet, or all is known already.
    integer, allocatable :: cuts(:)
    integer :: own, me, np, datatype
  end type asphalt_answers

contains

  !> Enters one exchange of blocks of different lengths (MPI_ALLTOALLV).
  !!
  !! What a rank sends to another is cut into pieces of as many elements as the sender computes in
  !! `k` iterations, the last one shorter.  Both know how long it is (`scounts` of the one,
  !! `rcounts` of the other), and each rank tells here all others how long its pieces are, and
  !! whether it can tile at all.  Where the header says `k`, the ranks compute their first tile
  !! before they hear of each other: if `k` is at least 1, `asphalt_hear` is to be called once
  !! before the first tile and once behind it.
  !!
  !! `comm`, `datatype`, `bytes`, `grain`, `wanted_k`, `wanted_d`, `legal`, `own`, `me`, `np`,
  !! `ierror`, `site` and `alone`: as for `asphalt_enter`.  `elements`: elements that one iteration
  !! of this rank adds to a block; `trips`: its iterations.  `scounts`, `sdispls`, `rcounts`: of the
  !! call. `slab`: the iterations fill the blocks one after the other; else they fill all of them at
  !! once, and the blocks begin at multiples of `spread` elements.
  !!
  !! `k`: iterations in which this rank computes a piece, at least 1; 0: this rank does not tile,
  !! and so none will.  `piece`: elements of its pieces, at least 1 if `k` is.  `d`: tiles whose
  !! sends are in flight.  `answers`: what the ranks tell each other.
  subroutine asphalt_enter_uneven(comm, datatype, bytes, elements, trips, grain, wanted_k, &
                                  wanted_d, legal, scounts, sdispls, rcounts, slab, spread, &
                                  own, me, np, k, piece, answers, d, ierror, site, alone)
    integer, intent(in) :: comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d
    logical, intent(in) :: legal, slab
    integer, intent(in) :: scounts(0:*), sdispls(0:*), rcounts(0:*), spread
    integer, intent(out) :: own, me, np, k, piece, d, ierror
    type(asphalt_answers), intent(inout) :: answers
    character(*), intent(in), optional :: site
    logical, intent(in), optional :: alone
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer :: longest, chosen, most
    logical :: usable, dense, fits, apart

    k = 0
    piece = 0
    d = 1
    apart = .true.
    if (present(alone)) apart = .not. alone
    call open_exchange(comm, own, me, np, usable, ierror)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (np == 1) return
      call find_companion(comm, carried, ierror)
      if (ierror /= MPI_SUCCESS) return
      if (present(site)) then
        call recall(carried, site, first_patience, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(datatype, bytes, dense, ierror)
    fits = ierror == MPI_SUCCESS .and. dense .and. legal .and. all(rcounts(:np-1) >= 0) &
      .and. blocks_fit(np, elements, trips, scounts, sdispls, slab, spread)
    longest = 0
    if (fits .and. elements > 0) longest = asphalt_iterations(maxval(scounts(:np-1)), elements)
    chosen = min(wanted_k, longest)
    if (wanted_k <= 0) &
      chosen = chosen_k(np, slab, .true., int(elements, int64) * bytes, longest, grain)
    piece = int(min(int(merge(chosen, longest, chosen > 0), int64) * elements, most_elements))
    if (wanted_k > 0) then
      ! a duplicate that was made in vain is made once
      if (apart) call private_duplicate(comm, own, .false., fits, ierror)
      call tell(answers, own, me, np, datatype, [chosen, piece, merge(bytes, 0, fits), 0], .true., &
                ierror)
      piece = merge(max(1, piece), 0, fits)
      if (.not. fits) own = comm
    else
      call tell(answers, comm, me, np, datatype, [chosen, piece, merge(bytes, 0, fits), &
                kibibytes(longest, elements, bytes)], .false., ierror)
      call take_cuts(answers, .true., most, ierror)
      if (most < merge(least_uneven_slab, least_uneven_block, slab) / 1024) answers%cuts = 0
      if (associated(memory) .and. answers%cuts(0) == 0) memory%resting = patience
      fits = .true.
      if (answers%cuts(0) > 0 .and. apart) call private_duplicate(comm, own, .true., fits, ierror)
      if (.not. fits) answers%cuts = 0
      answers%own = own
      piece = answers%cuts(me)
    end if
    if (piece == 0) then
      if (associated(answers%told)) call take_cuts(answers, .false., most, ierror)
      deallocate(answers%cuts)
      return
    end if
    k = max(1, asphalt_iterations(piece, elements))
    d = max(1, wanted_d)
    if (slab .and. wanted_k <= 0) d = max(d, least_slab_depth)
    d = min(d, max(1, asphalt_pieces_of(scounts, np, piece)))
  end subroutine asphalt_enter_uneven

  !> Hears what the other ranks told on entry (`asphalt_enter_uneven`), and posts all receives.
  !!
  !! `now`: this rank has computed its first tile, and waits for the others; before, receives are
  !! only posted where all is known, at once or since `asphalt_progress` found it there.  `buf`,
  !! `rcounts`, `rdispls`: of the call.  `requests`: of the sends, none of them started yet; those
  !! of the receives are added behind them.  `tiled`: becomes false, on all ranks, where one of them
  !! cannot tile.
  subroutine asphalt_hear(answers, now, buf, rcounts, rdispls, requests, tiled, ierror)
    type(asphalt_answers), intent(inout) :: answers
    logical, intent(in) :: now
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: rcounts(0:*), rdispls(0:*)
    integer, allocatable, intent(inout) :: requests(:)
    logical, intent(inout) :: tiled
    integer, intent(inout) :: ierror
    integer :: most, sends, slot, turn, peer, from, count

    if (associated(answers%told)) then
      ! asphalt_progress tests the request
      if (.not. now .and. answers%request /= MPI_REQUEST_NULL) return
      call take_cuts(answers, .false., most, ierror)
    end if
    if (.not. allocated(answers%cuts)) return
    tiled = answers%cuts(0) > 0
    if (tiled) then
      call tell_tiled()
      sends = size(requests)
      deallocate(requests)
      allocate(requests(sends + asphalt_posts_of(rcounts, answers%np, answers%cuts)), &
               source=MPI_REQUEST_NULL)
      slot = sends
      do turn = 1, answers%np
        peer = modulo(answers%me - turn, answers%np)
        ! both know the length of a block, and how the sender cuts it
        do from = 0, rcounts(peer) - 1, answers%cuts(peer)
          count = min(answers%cuts(peer), rcounts(peer) - from)
          slot = slot + 1
          call asphalt_irecv_at(buf, rdispls(peer) + from, count, answers%datatype, peer, 0, &
                                answers%own, requests(slot), ierror)
        end do
      end do
    end if
    deallocate(answers%cuts)
  end subroutine asphalt_hear

  !> Tells all ranks of `comm` how this one cuts what it sends; `later`: only begins to.
  !!
  !! `mine`: iterations of a piece, 0 where this rank would not cut; their elements; bytes of an
  !! element, 0 where this rank cannot tile; KiB of its longest block.
  subroutine tell(answers, comm, me, np, datatype, mine, later, ierror)
    type(asphalt_answers), intent(inout) :: answers
    integer, intent(in) :: comm, me, np, datatype, mine(cut_facts)
    logical, intent(in) :: later
    integer, intent(inout) :: ierror
    integer :: rank, failed

    answers%own = comm
    answers%me = me
    answers%np = np
    answers%datatype = datatype
    allocate(answers%mine(cut_facts), answers%told(cut_facts * np))
    answers%mine = mine
    answers%told = [(mine, rank = 1, np)]
    allocate(answers%request, source=MPI_REQUEST_NULL)
    if (np == 1) return  ! SMPI does not survive it
    if (later) then
      call MPI_Iallgather(answers%mine(1), cut_facts, MPI_INTEGER, answers%told(1), cut_facts, &
                          MPI_INTEGER, comm, answers%request, failed)
      asked => answers%request
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
    type(asphalt_answers), intent(inout) :: answers
    logical, intent(in) :: alike
    integer, intent(out) :: most
    integer, intent(inout) :: ierror
    integer :: unused(MPI_STATUS_SIZE), failed

    failed = MPI_SUCCESS
    if (answers%request /= MPI_REQUEST_NULL) &
      call MPI_Wait(answers%request, unused, failed)
    if (associated(asked, answers%request)) nullify (asked)
    deallocate(answers%request)
    if (failed /= MPI_SUCCESS) answers%told = 0
    if (ierror == MPI_SUCCESS) ierror = failed
    allocate(answers%cuts(0:answers%np-1), source=0)
    associate (told => answers%told, bytes => answers%mine(3))
      most = maxval(told(4::cut_facts))
      if (bytes > 0 .and. all(told(3::cut_facts) == bytes) .and. any(told(1::cut_facts) > 0)) then
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
