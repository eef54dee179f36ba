! Exchanges whose iterations add different numbers of elements to the blocks: what the ranks agree
! about, and the pieces of one that travels.
program packed
  use mpi
  use asphalt_packed, only: asphalt_packed_t
  implicit none
  integer, parameter :: trips = 7
  integer :: me, np, k, p, i, error, failures, total
  integer, allocatable :: units(:), counts(:), displs(:), arrive(:), there(:)
  real(8), allocatable :: sent(:), received(:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  failures = 0
  allocate (units(0:np-1), counts(0:np-1), displs(0:np-1), arrive(0:np-1), there(0:np-1))
  units = [(1 + me + p, p = 0, np - 1)]  ! as many as the receiver has for the sender
  counts = units*trips
  arrive = counts
  displs = [(sum(counts(:p-1)), p = 0, np - 1)]
  there = displs
  allocate (sent(sum(counts)), received(sum(counts)))

  call exchange('right', counts, arrive, .true.)
  call expect(k == 3)
  call exchange('right', counts, arrive, .true.)  ! nobody knows anything else
  call expect(k == 3)
  counts(np-1) = counts(np-1) - units(np-1)
  if (me == np - 1) arrive = arrive - units
  call exchange('right', counts, arrive, .true.)  ! somebody does
  call expect(k == 3)
  counts = units*trips
  arrive = counts

  ! one rank has a guard that does not hold, or expects another length: then nobody tiles
  call exchange('guard', counts, arrive, me > 0)
  call expect(k == 0)
  call exchange('guard', counts, arrive, .true.)
  call expect(k == 0)
  if (me == 0) arrive(np-1) = arrive(np-1) - 1
  call exchange('length', counts, arrive, .true.)
  call expect(k == 0)

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)

contains

  subroutine exchange(site, scounts, rcounts, legal)
    character(*), intent(in) :: site
    integer, intent(in) :: scounts(0:), rcounts(0:)
    logical, intent(in) :: legal
    integer :: lo, hi, done, tiles, place, from, length
    logical :: whole
    type(asphalt_packed_t) :: x

    received = -1
    sent = -2
    call x%begin_packed(MPI_COMM_WORLD, sent, displs, received, rcounts, there, &
                        MPI_DOUBLE_PRECISION, bytes=8, send_counts=scounts, units=units, first=11, &
                        last=10 + trips, k=3, d=2, tiled=legal, site=site)
    k = x%k
    call expect(x%me == me .and. x%np == np .and. x%error == MPI_SUCCESS)
    call expect((k > 0 .eqv. x%tiled) .and. (k > 0 .eqv. x%comm /= MPI_COMM_WORLD))
    if (k > 0) call expect(size(x%messages%requests) == 2*np + count_pieces(rcounts, units))
    done = 0
    tiles = 0
    do while (x%next_tile(sent))
      lo = x%lo
      hi = x%hi
      call x%progress()
      call expect(lo == 11 + done)
      do p = 0, np - 1
        place = displs(p) + units(p)*(lo - 11)
        if (x%tiled) call expect(x%place(p, lo) == place)
        sent(place+1:place+units(p)*(hi-lo+1)) = &
          [(dble(1000*me + i), i = place + 1, place + units(p)*(hi - lo + 1))]
      end do
      done = done + hi - lo + 1
      tiles = tiles + 1
    end do
    lo = x%lo
    call expect(done == trips .and. lo == 11 + trips)
    call expect(tiles == merge(3, 1, k > 0))
    whole = x%finished(sent, received, error)
    call expect(whole .eqv. k > 0)
    if (.not. whole) call expect(all(nint(received) == -1))
    if (.not. whole) return
    do p = 0, np - 1
      from = sum([(1 + p + i, i = 0, me - 1)])*trips
      length = rcounts(p)
      call expect(all(nint(received(there(p)+1:there(p)+length)) &
                      == [(1000*p + from + i, i = 1, length)]))
      call expect(all(nint(received(there(p)+length+1:there(p)+arrive(p))) == -1))
    end do
  end subroutine exchange

  !> The messages of three iterations each in which blocks arrive.
  integer function count_pieces(counts, units)
    integer, intent(in) :: counts(:), units(:)

    count_pieces = sum((counts + 3*units - 1)/(3*units))
  end function count_pieces

  subroutine expect(holds)
    logical, intent(in) :: holds

    if (.not. holds) failures = failures + 1
    if (.not. holds) print '(a)', 'FAIL'
  end subroutine expect
end program packed
