! MPI_ALLTOALLW of single elements and of elements with gaps between them, to and from places that
! differ between ranks, as messages: what each plane holds when it has been waited for, by position.
! Then planes with more elements than a default integer counts, of which only the beginning is used.
program places_of_types
  use mpi
  use asphalt_decomposition, only: asphalt_alltoallw_blocks, asphalt_await_block, &
                                   asphalt_bcast_blocks, asphalt_blocks, asphalt_finish_blocks
  implicit none
  integer, parameter :: n = 10, kinds = 3
  integer :: me, np, error, kind, wrong

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  wrong = 0
  do kind = 1, kinds
    call exchange
  end do
  call exchange_parts_of_large_planes
  call spread_a_part_of_a_large_plane
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', wrong == 0))
  call MPI_Finalize(error)

contains

  !> Each rank sends blocks of one kind to all ranks.
  subroutine exchange
    type(asphalt_blocks) :: blocks
    integer :: p, plane
    integer :: ones(np), none(np), out(np), in(np)
    real(8) :: s(n,n), r(n,n), expected(n,n)

    ones = 1
    none = 0
    s = reshape([(1000*me + p, p = 0, n*n - 1)], [n, n])
    r = -1
    expected = -1
    do p = 0, np - 1
      call make(sent(me, p), out(p+1))
      in(p+1) = out(p+1)
      if (p /= me) call make(received(p, me), in(p+1))
      call put(expected, received(p, me), 1000*p + sent(p, me))
    end do
    if (mod(me, 2) == 1) call be_late
    call asphalt_alltoallw_blocks(s, ones, none, out, r, ones, none, in, MPI_COMM_WORLD, [n], &
                                  storage_size(s), [n], storage_size(r), blocks)
    do plane = n, 1, -1  ! not what lies where wrong extents would have it
      call asphalt_await_block(blocks, plane - 1, r)
      do p = 1, n
        if (r(p,plane) == expected(p,plane)) cycle
        wrong = wrong + 1
        print '(5(a, i0))', 'kind ', kind, ', rank ', me, ': ', nint(r(p,plane)), ' is at ', p, &
          ', ', plane
      end do
    end do
    call asphalt_finish_blocks(blocks, s, r)
    if (any(r /= expected)) wrong = wrong + 1
    do p = 1, np
      call MPI_Type_free(out(p), error)
      if (p /= me + 1) call MPI_Type_free(in(p), error)
    end do
  end subroutine exchange

  !> Bytes behind what the product of the sizes would be if it went around.
  subroutine exchange_parts_of_large_planes
    integer, parameter :: begin = 70000, length = 8
    integer, parameter :: sizes(2) = [65537, 65536]
    type(asphalt_blocks) :: blocks
    integer :: many(np), places(np), p
    character :: s(begin + length*np), r(begin + length*np)

    many = length
    places = [(begin + length*p, p = 0, np - 1)]
    s = achar(65 + me)
    r = '-'
    if (mod(me, 2) == 1) call be_late
    call asphalt_alltoallw_blocks(s, many, places, spread(MPI_BYTE, 1, np), r, many, places, &
                                  spread(MPI_BYTE, 1, np), MPI_COMM_WORLD, sizes, &
                                  storage_size(s), sizes, storage_size(r), blocks)
    call asphalt_await_block(blocks, 0, r)
    if (any(r(begin+1:) /= [(achar(65 + p/length), p = 0, length*np - 1)])) then
      wrong = wrong + 1
      print '(a, i0, *(a))', 'rank ', me, ' has ', r(begin+1:)
    end if
    call asphalt_finish_blocks(blocks, s, r)
  end subroutine exchange_parts_of_large_planes

  !> The product of the sizes would be 0 if it went around.
  subroutine spread_a_part_of_a_large_plane
    integer, parameter :: length = 2**20
    type(asphalt_blocks) :: blocks
    character, allocatable :: r(:)

    allocate (r(length), source=merge('+', '-', me == 0))
    if (me == 0) call be_late
    call asphalt_bcast_blocks(r, length, MPI_BYTE, 0, MPI_COMM_WORLD, [65536, 65536], blocks)
    call asphalt_await_block(blocks, 0, r)
    if (any(r /= '+')) then
      wrong = wrong + 1
      print '(a, i0, a, i0, a)', 'rank ', me, ' lacks ', count(r /= '+'), ' bytes'
    end if
    call asphalt_finish_blocks(blocks, r)
  end subroutine spread_a_part_of_a_large_plane

  !> The first element that a rank sends to another one, counted from 0; to itself, with one type.
  integer function sent(from, to)
    integer, intent(in) :: from, to

    sent = 11 + 2*to + n*mod(from, 2)
    if (from == to) sent = received(from, to)
  end function sent

  !> Where it comes to.
  integer function received(from, to)
    integer, intent(in) :: from, to

    received = 3 + mod(to, 3) + n*from
  end function received

  !> The distance of the two elements of a block, or 0: it has one.
  integer function gap()
    integer, parameter :: gaps(kinds) = [0, 50, 50]

    gap = gaps(kind)
  end function gap

  !> The type of a block that begins with an element.
  subroutine make(element, type)
    integer, intent(in) :: element
    integer, intent(out) :: type
    integer(MPI_ADDRESS_KIND), parameter :: bytes = 8
    integer :: vector, placed

    if (gap() == 0) then
      call MPI_Type_create_subarray(2, [n, n], [1, 1], [mod(element, n), element/n], &
                                    MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, type, error)
    else
      call MPI_Type_vector(2, 1, gap(), MPI_DOUBLE_PRECISION, vector, error)
      call MPI_Type_create_hindexed(1, [1], [element*bytes], vector, placed, error)
      ! as if there were no gap, or the block were one plane
      call MPI_Type_create_resized(placed, 0_MPI_ADDRESS_KIND, merge(2*bytes, n*bytes, kind == 2), &
                                   type, error)
      call MPI_Type_free(vector, error)
      call MPI_Type_free(placed, error)
    end if
    call MPI_Type_commit(type, error)
  end subroutine make

  !> What a block brings to its place.
  subroutine put(array, element, first)
    real(8), intent(inout) :: array(n*n)
    integer, intent(in) :: element, first

    array(element + 1) = first
    array(element + 1 + gap()) = first + gap()
  end subroutine put

  !> Waits without a clock, which stands still in a simulation.
  subroutine be_late
    integer :: turn, token, status(MPI_STATUS_SIZE)

    do turn = 1, 500
      call MPI_Sendrecv(turn, 1, MPI_INTEGER, me, 0, token, 1, MPI_INTEGER, me, 0, MPI_COMM_WORLD, &
                        status, error)
    end do
  end subroutine be_late
end program places_of_types
