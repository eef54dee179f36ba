! Pieces of blocks of different lengths: how many there are, and where they begin.
!
! For the other modules of the runtime
!   pieces_of, posts_of, most_pieces   numbers of pieces
!   next_piece                         the next piece of a block, or the first of the next block
!   iterations_for                     the iterations that fill so many elements
!   most_elements                      the most elements of a piece
!   kibibytes                          sizes for which bytes are no default integers
!   least_uneven_slab, least_uneven_block, first_patience   when it pays to ask the other ranks
!
! Nothing here is for transformed code, and nothing communicates.
module asphalt_pieces
  use asphalt_core, only: int64
  use asphalt_choice, only: over
  implicit none
  private
  ! for the other modules of the runtime
  public :: pieces_of, posts_of, most_pieces, next_piece, iterations_for, most_elements, &
            kibibytes, least_uneven_slab, least_uneven_block, first_patience

  !> The most elements of a piece, and of what a rank sends: the sum of both is a default integer.
  integer(int64), parameter :: most_elements = 1073741823_int64

  !> Bytes of the longest block of all from which on it pays to ask at every entry: of slabs, and where tiles send to all.
  integer(int64), parameter :: least_uneven_slab = 524288_int64
  integer(int64), parameter :: least_uneven_block = 1048576_int64

  !> Entries that go by before the ranks ask at all, where nothing equal is known of their blocks.
  integer, parameter :: first_patience = 47

contains

  !> The number of pieces into which blocks of `counts` elements are cut.
  pure integer function pieces_of(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece
    integer :: p

    pieces_of = 0
    do p = 0, np - 1
      pieces_of = pieces_of + pieces(counts(p), piece)
    end do
  end function pieces_of

  !> The number of pieces in which blocks of `counts` elements arrive, that of rank p cut into
  !! pieces of `cuts(p)`.
  pure integer function posts_of(counts, np, cuts)
    integer, intent(in) :: counts(0:*), np, cuts(0:*)
    integer :: p

    posts_of = 0
    do p = 0, np - 1
      posts_of = posts_of + pieces(counts(p), cuts(p))
    end do
  end function posts_of

  !> The number of pieces of the longest block.
  pure integer function most_pieces(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece

    most_pieces = pieces(maxval(counts(:np-1)), piece)
  end function most_pieces

  !> The number of pieces of a block of `count` elements.
  pure integer function pieces(count, piece)
    integer, intent(in) :: count, piece

    pieces = count / piece + merge(1, 0, mod(count, piece) > 0)
  end function pieces

  !> Goes on to the next piece: of the same block, or of the next one that is not empty.
  !!
  !! On entry `count` elements from `from` on of the block of rank `peer` are done; on return the
  !! next piece begins at `from`, and has `count` elements.
  pure subroutine next_piece(counts, np, piece, peer, from, count)
    integer, intent(in) :: counts(0:*), np, piece
    integer, intent(inout) :: peer, from, count
    integer :: blocks

    from = from + count
    do blocks = 1, np
      if (from < counts(peer)) exit
      peer = mod(peer + 1, np)
      from = 0
    end do
    count = min(piece, counts(peer) - from)
  end subroutine next_piece

  !> The iterations that write `elements` elements, the last of them maybe more, where one writes
  !! `unit`; 0 if none ever does.
  pure integer function iterations_for(elements, unit)
    integer, intent(in) :: elements, unit

    iterations_for = 0
    if (unit > 0) iterations_for = int(over(int(elements, int64), int(unit, int64)))
  end function iterations_for
  !> The size of so many iterations in units of 1024 bytes.
  pure integer function kibibytes(iterations, elements, bytes)
    integer, intent(in) :: iterations, elements, bytes
    integer(int64) :: iteration

    iteration = int(elements, int64) * bytes
    kibibytes = int(min(iteration / 1024 * iterations + mod(iteration, 1024_int64) * iterations &
                        / 1024, int(huge(1), int64)))
  end function kibibytes
end module asphalt_pieces
