! An exchange of blocks (MPI_ALLTOALL, MPI-4.0 section 6.8) in tiles that are several runs of each
! block: one message of a derived data type to each rank.
!
! For transformed code
!   asphalt_strided_t   the exchange while it is going on.  Bound to it are what is bound to
!                       asphalt_exchange_t (asphalt_exchange), and
!     begin_strided     begins it, as `begin` does where a tile is one run of each block
module asphalt_strided
  use asphalt_core, only: asphalt_byte, int64
  use asphalt_choice, only: over
  use asphalt_datatypes, only: free_type, keep_strided, make_strided
  use asphalt_exchange, only: asphalt_exchange_t, enter_loop, planes_before, receive_piece, &
                              send_piece
  use mpi, only: MPI_DATATYPE_NULL
  implicit none
  private
  public :: asphalt_strided_t

  !> Bytes of a contiguous run below which packing and unpacking the runs of a message costs more
  !! than what it hides.
  integer(int64), parameter :: least_run = 256_int64

  !> An exchange of such tiles that is going on.
  type, extends(asphalt_exchange_t) :: asphalt_strided_t
    private
    !> Elements between planes, and between blocks, and in front of the first one that is sent.
    integer(int64) :: plane_apart = 0, send_plane_apart = 0, send_block_apart = 0, send_begins = 0
    !> The data types of a tile of K planes, and of the last tile, which may have fewer.
    integer :: receive_types(2) = MPI_DATATYPE_NULL, send_types(2) = MPI_DATATYPE_NULL
    logical :: alike = .true.
  contains
    procedure :: begin_strided
    procedure :: start_message => start_strided
    procedure :: release_all => free_types
  end type asphalt_strided_t

contains

  !> Begins an exchange of equal blocks in which a tile is several runs of each block.
  !!
  !! `extents`: the sizes of the dimensions of a block, the fastest one first; the loop is that over
  !! dimension `along`.  `strides`: elements between neighbours in these dimensions, and between
  !! blocks, of the array `send`, if it is not the send buffer of the call but what is packed into
  !! it; `offset`: its elements in front of the first one that is sent.  All others: as for
  !! `begin`.
  subroutine begin_strided(x, comm, send, receive, count, datatype, bytes, unit, last, k, d, &
                           extents, along, first, step, backwards, strides, offset, grain, tiled, &
                           uniform, alone, clone, site, backend, lasting, entered)
    class(asphalt_strided_t), intent(out) :: x
    integer, intent(in) :: comm, count, datatype, bytes, unit, last, k, d, extents(:), along
    !GCC$ attributes no_arg_check :: send, receive
    !DIR$ ignore_tkr send, receive
    integer(asphalt_byte), dimension(*), intent(in), target :: send
    integer(asphalt_byte), dimension(*), intent(inout), target :: receive
    integer, intent(in), optional :: first, step, strides(:), offset, grain
    logical, intent(in), optional :: backwards, tiled, uniform, alone, clone, lasting, entered
    character(*), intent(in), optional :: site
    procedure(), optional :: backend
    integer :: rest, dims, multiple
    logical :: legal

    legal = product(int(extents, int64)) == count
    if (present(tiled)) legal = legal .and. tiled
    multiple = 1
    if (present(grain)) multiple = grain
    call x%begin(comm, send, receive, count, datatype, bytes, unit, last, k, d, first, step, &
                 backwards=backwards, grain=grain, tiled=legal, uniform=uniform, alone=alone, &
                 clone=clone, site=site, backend=backend, lasting=lasting, facts=extents, &
                 least_k=least_planes(bytes, multiple, extents, along, strides))
    if (.not. x%tiled) then
      call enter_loop(x, entered)
      return
    end if
    dims = size(extents)
    rest = x%trips - (x%tiles - 1) * x%k
    x%plane_apart = product(int(extents(:along-1), int64))
    x%send_plane_apart = x%plane_apart
    x%send_block_apart = x%count
    call make_type(x%k, x%receive_types(1))
    call make_type(rest, x%receive_types(2))
    x%alike = .not. present(strides)
    if (.not. x%alike) then
      x%send_plane_apart = strides(along)
      x%send_block_apart = strides(dims+1)
      if (present(offset)) x%send_begins = offset
      call make_type(x%k, x%send_types(1), strides(:dims))
      call make_type(rest, x%send_types(2), strides(:dims))
    end if
    call enter_loop(x, entered)

  contains

    !> Makes the data type of so many planes.
    subroutine make_type(planes, new, apart)
      integer, intent(in) :: planes
      integer, intent(out) :: new
      integer, intent(in), optional :: apart(:)

      if (x%messages%keeps) then
        call keep_strided(datatype, extents, along, planes, new, x%error, apart)
      else
        call make_strided(datatype, extents, along, planes, new, x%error, apart)
      end if
    end subroutine make_type
  end subroutine begin_strided

  !> Starts the message with `planes` planes of the block of `peer`, `from` planes into it.
  subroutine start_strided(x, peer, from, planes, slot, sending)
    class(asphalt_strided_t), intent(inout) :: x
    integer, intent(in) :: peer, from, planes, slot
    logical, intent(in) :: sending
    integer(int64) :: inside, offset
    integer :: which

    inside = planes_before(x, from, planes)
    which = merge(1, 2, planes == x%k)
    if (.not. sending) then
      offset = int(peer, int64) * x%count + inside * x%plane_apart
      call receive_piece(x, offset, 1, x%receive_types(which), peer, slot)
    else
      offset = x%send_begins + peer * x%send_block_apart + inside * x%send_plane_apart
      call send_piece(x, offset, 1, merge(x%receive_types(which), x%send_types(which), x%alike), &
                      peer, slot)
    end if
  end subroutine start_strided

  !> Planes of a tile, a multiple of `grain`, from which on its runs are long; very many where they
  !! never are.
  pure integer function least_planes(bytes, grain, extents, along, strides)
    integer, intent(in) :: bytes, grain, extents(:), along
    integer, intent(in), optional :: strides(:)
    integer(int64) :: one

    one = run(1) * bytes
    least_planes = huge(least_planes)
    if (one <= 0) return
    if (run(2) > run(1)) then
      least_planes = int(over(over(least_run, one), int(grain, int64))) * grain
    else if (one >= least_run) then
      least_planes = 1
    end if

  contains

    !> Elements of the shortest runs that sender and receiver have in a tile of so many planes.
    pure integer(int64) function run(planes)
      integer, intent(in) :: planes

      run = run_length(extents, along, planes)
      if (present(strides)) run = min(run, run_length(extents, along, planes, strides))
    end function run
  end function least_planes

  !> Elements that lie one behind the other in a part of a block (see `make_strided`).
  pure integer(int64) function run_length(extents, along, planes, strides)
    integer, intent(in) :: extents(:), along, planes
    integer, intent(in), optional :: strides(:)
    integer(int64) :: apart
    integer :: dimension, count

    run_length = 1
    apart = 1
    do dimension = 1, size(extents)
      if (present(strides)) apart = strides(dimension)
      count = merge(planes, extents(dimension), dimension == along)
      if (count /= 1 .and. apart /= run_length) return
      run_length = run_length * count
      apart = apart * extents(dimension)
    end do
  end function run_length

  !> Frees what a completed exchange holds, the data types included.
  subroutine free_types(x)
    class(asphalt_strided_t), intent(inout) :: x
    integer :: which

    do which = 1, 2
      call free_type(x%receive_types(which), x%error)
      call free_type(x%send_types(which), x%error)
    end do
    call x%asphalt_exchange_t%release_all()
  end subroutine free_types
end module asphalt_strided
