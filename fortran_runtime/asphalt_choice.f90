! The choice of K, the number of iterations of a tile, where the header leaves it open, and of
! whether to tile at all.
!
! An exchange that is cut into tiles must not take longer than the original call, whatever the
! iterations between take: messages are as long as networks need for their full bandwidth, and
! blocks that are too short for that are not cut.  docs/choice.md has the measurements behind the
! numbers.
!
! For the other modules of the runtime
!   chosen_k         K of an exchange, or 0: do not tile
!   least_block      the bytes of a block below which an exchange is not tiled
!   block_bytes      the bytes of a block
!   tiles, over      numbers of tiles
!
! Nothing here is for transformed code, and nothing communicates.
module asphalt_choice
  use asphalt_core, only: int64
  use mpi, only: MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: chosen_k, least_block, block_bytes, tiles, over, least_slab_depth, patience

  !> Bytes of a message from which on networks give their full bandwidth: an exchange is not cut
  !! into shorter ones, which would take longer altogether than the original call.
  integer(int64), parameter :: good_message = 65536_int64
  !> Where messages twice as long leave as many tiles as this, they are that long: each costs less.
  integer(int64), parameter :: enough_tiles = 8_int64
  !> Bytes of a message where a tile sends to one rank alone, so that fewer are under way, or where
  !! all receives are posted at once.
  integer(int64), parameter :: good_long_message = 262144_int64
  !> Pieces of at least `good_long_message` from which on it pays to cut a slab's block at all.
  integer(int64), parameter :: least_slab_pieces = 4_int64
  !> The least number of tiles in flight of slabs: a tile has one message, and as many have to be
  !! under way as hide the latency, and what one rank is ahead of another.
  integer, parameter :: least_slab_depth = 8
  !> More tiles than this hide nothing more, and each of them costs requests and calls.
  integer(int64), parameter :: many_tiles = 64_int64
  !> The same where all receives are posted at once.
  integer(int64), parameter :: many_uneven_tiles = 16_int64

  !> Bytes of a block from which on it pays to ask the other ranks at every entry.
  integer(int64), parameter :: least_agreed_block = 1048576_int64

  !> Entries that go by without asking after the ranks agreed not to tile.
  integer, parameter :: patience = 63

contains

  !> The tile length where the header leaves it open; 0: tiling would not pay.
  !!
  !! `piece`: bytes that one iteration adds to one message; `trips`: iterations that fill a block.
  !! How long iterations take is not known, so that nothing may be lost where there is nothing to
  !! hide: messages have at least the size from which on they are as fast as longer ones, the last
  !! one of a block included.  Slabs send a block to one rank after the other, and the transfer of
  !! one is hidden behind the next: they need not be cut.
  pure integer function chosen_k(np, one_by_one, uneven, piece, trips, grain) result(k)
    integer, intent(in) :: np, trips, grain
    logical, intent(in) :: one_by_one, uneven
    integer(int64), intent(in) :: piece
    integer(int64) :: least, parts, length, last

    k = 0
    if (np == 1 .or. piece <= 0 .or. trips <= 0) return
    least = over(merge(good_long_message, good_message, one_by_one .or. uneven), piece)
    parts = trips / least
    if (one_by_one) then
      if (trips >= over(good_message, piece)) k = trips
      parts = min(parts, many_tiles / np)
      if (parts < least_slab_pieces) return
    else if (uneven) then
      parts = min(parts, many_uneven_tiles)
    else
      parts = min(parts, max(enough_tiles, trips / over(2 * good_message, piece)), many_tiles)
    end if
    do while (parts >= 2)
      length = over(over(int(trips, int64), parts), int(grain, int64)) * grain
      last = trips - (over(int(trips, int64), length) - 1) * length
      if (length < trips .and. last >= least) then
        k = int(length)
        return
      end if
      parts = parts - 1
    end do
  end function chosen_k

  !> Bytes of a block below which an exchange is not tiled.
  pure integer(int64) function least_block(one_by_one, certain)
    logical, intent(in) :: one_by_one, certain

    least_block = merge(good_message, 2 * good_message, one_by_one)
    if (.not. certain) least_block = max(least_block, least_agreed_block)
  end function least_block

  !> The bytes of `count` of `datatype`, the same on all ranks; many where MPI does not know.
  integer(int64) function block_bytes(count, datatype)
    integer, intent(in) :: count, datatype
    integer :: size, ierror

    block_bytes = huge(block_bytes)
    call MPI_Type_size(datatype, size, ierror)
    if (ierror == MPI_SUCCESS) block_bytes = int(count, int64) * size
  end function block_bytes

  !> The number of tiles of a rank: each stream is cut into pieces of `k` iterations; slabs are a
  !! stream for each rank, `one_by_one`.
  pure integer(int64) function tiles(one_by_one, np, trips, k)
    logical, intent(in) :: one_by_one
    integer, intent(in) :: np, trips, k

    tiles = over(int(trips, int64), int(k, int64)) * merge(np, 1, one_by_one)
  end function tiles

  !> `a / b` rounded up, for positive numbers.
  pure integer(int64) function over(a, b)
    integer(int64), intent(in) :: a, b

    over = (a + b - 1) / b
  end function over
end module asphalt_choice
