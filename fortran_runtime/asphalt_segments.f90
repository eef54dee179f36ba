! Messages between two ranks in segments, one for each tile of a nest (Danalis et al., ICS 2009,
! section 5, "CCTP").
!
! For transformed code
!   asphalt_segments_t         the messages that one nest, or two, receive and send in segments; its
!                              components `lo` and `hi` are the first and the last iteration of the
!                              tile that is computed now
!   asphalt_begin_segments     chooses the tiles
!   asphalt_next_segment       whether there is another tile, from the first one to the last
!   asphalt_receive_segments   posts the receives of all segments (MPI-4.0 section 3.7.2)
!   asphalt_await_segment      waits for that of this tile (section 3.7.3)
!   asphalt_await_segments     waits for all of them
!   asphalt_send_segment       sends that of this tile, when the one D tiles before it has left
!   asphalt_send_segments      sends all of them
!   asphalt_finish_segments    waits until all have left
!   asphalt_segment            the length of a tile, where a program has loops over tiles of its own
!
! An iteration has `count` elements of either message, one iteration behind the other.  Each call
! names the buffer, so that a compiler moves no access to it across the call (section 19.1.8).
module asphalt_segments
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr, c_signed_char
  use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_sync, MPI_Get_address
  use asphalt_transfers, only: asphalt_issend, asphalt_wait
  use mpi, only: MPI_ADDRESS_KIND, MPI_REQUEST_NULL
  implicit none
  private
  public :: asphalt_segments_t, asphalt_begin_segments, asphalt_next_segment, &
            asphalt_receive_segments, asphalt_await_segment, asphalt_await_segments, &
            asphalt_send_segment, asphalt_send_segments, asphalt_finish_segments, asphalt_segment

  !> Parts of a message between two ranks, and operations for which it pays to send one more.
  integer, parameter :: usual_segments = 4
  real, parameter :: least_segment_work = 100000.0
  integer, parameter :: whole_vectors = 16

  type :: asphalt_segments_t
    integer :: lo = 1, hi = 0
    integer, private :: first = 1, last = 0, length = 1, depth = 0
    logical, private :: is_in_tiles = .false.
    !> A request for each tile.
    integer, allocatable, private :: received(:), sent(:)
  end type asphalt_segments_t

contains

  !> Cuts the iterations from `first` to `last`, each of which takes about `work` operations, into
  !! tiles of `k`, or, where this is 0, of as many as leave a few tiles that are each worth a
  !! message.  A segment is sent when that of the tile `d` before it has left; 0: it waits for none.
  !!
  !! All ranks that pass the same get the same tiles.  What is in progress stays so.
  subroutine asphalt_begin_segments(x, first, last, work, k, d)
    type(asphalt_segments_t), intent(inout) :: x
    integer, intent(in) :: first, last, k
    real, intent(in) :: work
    integer, intent(in), optional :: d

    x%first = first
    x%last = last
    x%length = asphalt_segment(k, last - first + 1, work)
    x%depth = 0
    if (present(d)) x%depth = d
    x%is_in_tiles = .false.
  end subroutine asphalt_begin_segments

  !> How many of `iterations` a tile has: `wanted`, or, where this is 0, a number that depends on
  !! the `work` of an iteration; of many, a multiple of 16, so that tiles begin where the vectors of
  !! the whole loop do.
  pure integer function asphalt_segment(wanted, iterations, work)
    integer, intent(in) :: wanted, iterations
    real, intent(in) :: work

    asphalt_segment = wanted
    if (wanted <= 0) then
      asphalt_segment = max((iterations - 1) / usual_segments + 1, &
                            ceiling(least_segment_work / max(work, 1.0)))
      if (asphalt_segment >= 4*whole_vectors) then
        asphalt_segment = whole_vectors*((asphalt_segment - 1) / whole_vectors + 1)
      end if
    end if
    asphalt_segment = max(1, min(asphalt_segment, iterations))
  end function asphalt_segment

  !> Whether there is another tile: then it is the one from `lo` to `hi`.  Behind the last one, the
  !! next call begins with the first one again.
  logical function asphalt_next_segment(x)
    type(asphalt_segments_t), intent(inout) :: x

    if (.not. x%is_in_tiles) then
      asphalt_next_segment = x%first <= x%last
      if (asphalt_next_segment) call go_to(x, 1)
    else
      asphalt_next_segment = x%hi < x%last
      if (asphalt_next_segment) call go_to(x, tile_of(x) + 1)
    end if
    x%is_in_tiles = asphalt_next_segment
  end function asphalt_next_segment

  !> Posts the receives of all segments, from `buf` on.
  subroutine asphalt_receive_segments(x, buf, count, datatype, source, tag, comm)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, source, tag, comm
    integer(c_signed_char), pointer :: byte
    integer :: tile

    call make_room(x, x%received)
    do tile = 1, size(x%received)
      call go_to(x, tile)
      call find(x, buf, count, datatype, byte)
      call asphalt_irecv(byte, count*(x%hi - x%lo + 1), datatype, source, tag, comm, &
                         x%received(tile))
    end do
  end subroutine asphalt_receive_segments

  !> Waits for the segment of this tile, in `buf`.
  subroutine asphalt_await_segment(x, buf)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf

    call asphalt_wait(x%received(tile_of(x)), buf)
  end subroutine asphalt_await_segment

  !> Waits for all segments, in `buf`.
  subroutine asphalt_await_segments(x, buf)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf

    call wait_for_all(x%received, buf)
  end subroutine asphalt_await_segments

  !> Sends the segment of this tile: `buf` is the whole message.  `synchronous`: as MPI_Ssend does.
  subroutine asphalt_send_segment(x, buf, count, datatype, dest, tag, comm, synchronous)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    logical, intent(in), optional :: synchronous
    integer(c_signed_char), pointer :: byte
    integer :: tile, elements
    logical :: waits

    tile = tile_of(x)
    if (tile == 1) call make_room(x, x%sent)
    if (x%depth > 0 .and. tile > x%depth) call asphalt_wait(x%sent(tile - x%depth), buf)
    call asphalt_sync(buf)
    call find(x, buf, count, datatype, byte)
    elements = count*(x%hi - x%lo + 1)
    waits = .false.
    if (present(synchronous)) waits = synchronous
    if (waits) then
      call asphalt_issend(byte, elements, datatype, dest, tag, comm, x%sent(tile))
    else
      call asphalt_isend(byte, elements, datatype, dest, tag, comm, x%sent(tile))
    end if
  end subroutine asphalt_send_segment

  !> Sends all segments.
  subroutine asphalt_send_segments(x, buf, count, datatype, dest, tag, comm, synchronous)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    logical, intent(in), optional :: synchronous
    integer :: depth

    depth = x%depth
    x%depth = 0
    x%is_in_tiles = .false.
    do while (asphalt_next_segment(x))
      call asphalt_send_segment(x, buf, count, datatype, dest, tag, comm, synchronous)
    end do
    x%depth = depth
  end subroutine asphalt_send_segments

  !> Waits until all segments have left `buf`.
  subroutine asphalt_finish_segments(x, buf)
    type(asphalt_segments_t), intent(inout) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf

    call wait_for_all(x%sent, buf)
  end subroutine asphalt_finish_segments

  !> Waits for all of some requests.
  subroutine wait_for_all(requests, buf)
    integer, allocatable, intent(inout) :: requests(:)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer :: tile

    if (.not. allocated(requests)) return
    do tile = 1, size(requests)
      call asphalt_wait(requests(tile), buf)
    end do
  end subroutine wait_for_all

  !> A request for each tile, none of which is in progress.
  subroutine make_room(x, requests)
    type(asphalt_segments_t), intent(in) :: x
    integer, allocatable, intent(inout) :: requests(:)

    if (allocated(requests)) deallocate(requests)
    allocate(requests(max(0, (x%last - x%first) / x%length + 1)), source=MPI_REQUEST_NULL)
  end subroutine make_room

  !> The number of this tile, from 1.
  pure integer function tile_of(x)
    type(asphalt_segments_t), intent(in) :: x

    tile_of = (x%lo - x%first) / x%length + 1
  end function tile_of

  !> Makes a tile this one.
  pure subroutine go_to(x, tile)
    type(asphalt_segments_t), intent(inout) :: x
    integer, intent(in) :: tile

    x%lo = x%first + (tile - 1)*x%length
    x%hi = x%lo + min(x%length - 1, x%last - x%lo)
  end subroutine go_to

  !> The first byte of the segment of this tile.
  subroutine find(x, buf, count, datatype, byte)
    type(asphalt_segments_t), intent(in) :: x
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype
    integer(c_signed_char), pointer, intent(out) :: byte
    integer(MPI_ADDRESS_KIND) :: address, lower, extent
    integer :: error

    call MPI_Get_address(buf, address, error)
    call MPI_Type_get_extent(datatype, lower, extent, error)
    address = address + int(x%lo - x%first, MPI_ADDRESS_KIND)*count*extent
    call c_f_pointer(transfer(address, c_null_ptr), byte)
  end subroutine find
end module asphalt_segments
