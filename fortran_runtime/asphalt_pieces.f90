! Pieces of blocks of different lengths: how many there are, where they begin, their messages.
!
! For transformed code
!   asphalt_pieces_of, asphalt_posts_of, asphalt_most_pieces   numbers of pieces
!   asphalt_next_piece                  the next piece of a block, or the first of the next block
!   asphalt_iterations                  the iterations that fill so many elements
!   asphalt_isend_at, asphalt_irecv_at  a message from or to a displacement, which counts elements
!                                       from 0 as MPI_ALLTOALLV does (MPI-4.0 section 6.8)
module asphalt_pieces
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr
  use asphalt_core, only: asphalt_irecv, asphalt_isend, int64, int8, MPI_Get_address
  use asphalt_choice, only: over
  use mpi, only: MPI_ADDRESS_KIND
  implicit none
  private
  public :: asphalt_pieces_of, asphalt_posts_of, asphalt_most_pieces, asphalt_next_piece, &
            asphalt_iterations, asphalt_isend_at, asphalt_irecv_at
  ! for the other modules of the runtime
  public :: most_elements

  !> The most elements of a piece, and of what a rank sends: the sum of both is a default integer.
  integer(int64), parameter :: most_elements = 1073741823_int64

contains

  !> The number of pieces into which blocks of `counts` elements are cut.
  pure integer function asphalt_pieces_of(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece
    integer :: p

    asphalt_pieces_of = 0
    do p = 0, np - 1
      asphalt_pieces_of = asphalt_pieces_of + pieces(counts(p), piece)
    end do
  end function asphalt_pieces_of

  !> The number of pieces in which blocks of `counts` elements arrive, that of rank p cut into
  !! pieces of `cuts(p)`.
  pure integer function asphalt_posts_of(counts, np, cuts)
    integer, intent(in) :: counts(0:*), np, cuts(0:*)
    integer :: p

    asphalt_posts_of = 0
    do p = 0, np - 1
      asphalt_posts_of = asphalt_posts_of + pieces(counts(p), cuts(p))
    end do
  end function asphalt_posts_of

  !> The number of pieces of the longest block.
  pure integer function asphalt_most_pieces(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece

    asphalt_most_pieces = pieces(maxval(counts(:np-1)), piece)
  end function asphalt_most_pieces

  !> The number of pieces of a block of `count` elements.
  pure integer function pieces(count, piece)
    integer, intent(in) :: count, piece

    pieces = count / piece + merge(1, 0, mod(count, piece) > 0)
  end function pieces

  !> Goes on to the next piece: of the same block, or of the next one that is not empty.
  !!
  !! On entry `count` elements from `from` on of the block of rank `peer` are done; on return the
  !! next piece begins at `from`, and has `count` elements.
  pure subroutine asphalt_next_piece(counts, np, piece, peer, from, count)
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
  end subroutine asphalt_next_piece

  !> The iterations that write `elements` elements, the last of them maybe more, where one writes
  !! `unit`; 0 if none ever does.
  pure integer function asphalt_iterations(elements, unit)
    integer, intent(in) :: elements, unit

    asphalt_iterations = 0
    if (unit > 0) asphalt_iterations = int(over(int(elements, int64), int(unit, int64)))
  end function asphalt_iterations

  !> MPI_Isend from the element `displacement` of `buf` on, counted from 0 as MPI_ALLTOALLV does.
  !!
  !! The elements of `datatype` lie one behind the other without holes.
  subroutine asphalt_isend_at(buf, displacement, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout) :: ierror
    integer(int8), pointer :: byte

    call find(buf, displacement, datatype, byte)
    call asphalt_isend(byte, count, datatype, dest, tag, comm, request, ierror)
  end subroutine asphalt_isend_at

  !> MPI_Irecv from the element `displacement` of `buf` on, counted from 0 as MPI_ALLTOALLV does.
  subroutine asphalt_irecv_at(buf, displacement, count, datatype, source, tag, comm, request, &
                              ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, count, datatype, source, tag, comm
    integer, intent(out) :: request
    integer, intent(inout) :: ierror
    integer(int8), pointer :: byte

    call find(buf, displacement, datatype, byte)
    call asphalt_irecv(byte, count, datatype, source, tag, comm, request, ierror)
  end subroutine asphalt_irecv_at

  !> The first byte of an element of `buf`, counted from 0.
  !!
  !! A dummy argument of any type has no elements, but it has an address (MPI-3.1 section 4.1.5),
  !! which is that of C on every machine with one address space.
  subroutine find(buf, displacement, datatype, byte)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, datatype
    integer(int8), pointer, intent(out) :: byte
    integer(MPI_ADDRESS_KIND) :: address, lower, extent
    integer :: ierror

    call MPI_Get_address(buf, address, ierror)
    call MPI_Type_get_extent(datatype, lower, extent, ierror)
    call c_f_pointer(transfer(address + displacement * extent, c_null_ptr), byte)
  end subroutine find
end module asphalt_pieces
