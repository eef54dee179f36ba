! Exchanges whose iterations add different numbers of elements to the blocks: what the ranks agree
! about, and the pieces of one that travels.
program packed
  use mpi
  use asphalt_core, only: asphalt_waitall
  use asphalt_packed, only: asphalt_enter_packed
  use asphalt_pieces, only: asphalt_irecv_at, asphalt_isend_at, asphalt_posts_of
  implicit none
  integer, parameter :: trips = 7
  integer :: me, np, own, rank, ranks, k, d, p, from, error, failures, total, slot, i
  integer, allocatable :: units(:), counts(:), displs(:), arrive(:), there(:), cuts(:)
  integer, allocatable :: requests(:)
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
  sent = [(dble(1000*me + i), i = 1, size(sent))]
  received = -1

  call enter('right', counts, arrive, .true.)
  call expect(k == 3 .and. all(cuts == 3*units) .and. own /= MPI_COMM_WORLD)
  allocate (requests(2*asphalt_posts_of(arrive, np, cuts)))
  slot = 0
  do p = 0, np - 1
    do from = 0, arrive(p) - 1, cuts(p)
      slot = slot + 1
      call asphalt_irecv_at(received, there(p) + from, min(cuts(p), arrive(p) - from), &
                            MPI_DOUBLE_PRECISION, p, 0, own, requests(slot), error)
      slot = slot + 1
      call asphalt_isend_at(sent, displs(p) + from, min(cuts(p), counts(p) - from), &
                            MPI_DOUBLE_PRECISION, p, 0, own, requests(slot), error)
    end do
  end do
  call expect(slot == size(requests))
  call asphalt_waitall(slot, requests, error)
  do p = 0, np - 1
    from = sum([(1 + p + i, i = 0, me - 1)])*trips
    call expect(all(nint(received(there(p)+1:there(p)+arrive(p))) &
                    == [(1000*p + from + i, i = 1, arrive(p))]))
  end do
  call enter('right', counts, arrive, .true.)  ! nobody knows anything else
  call expect(k == 3 .and. all(cuts == 3*units))

  ! one rank has a guard that does not hold, or expects another length: then nobody tiles
  call enter('guard', counts, arrive, me > 0)
  call expect(k == 0 .and. all(cuts == 0))
  call enter('guard', counts, arrive, .true.)
  call expect(k == 0)
  if (me == 0) arrive(np-1) = arrive(np-1) - 1
  call enter('length', counts, arrive, .true.)
  call expect(k == 0)

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)

contains

  subroutine enter(site, scounts, rcounts, legal)
    character(*), intent(in) :: site
    integer, intent(in) :: scounts(0:), rcounts(0:)
    logical, intent(in) :: legal

    call asphalt_enter_packed(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, units, trips, 1, 3, 2, legal, &
                              scounts, displs, rcounts, there, 0, .true., own, rank, ranks, k, &
                              cuts, d, error, site)
    call expect(rank == me .and. ranks == np .and. error == MPI_SUCCESS)
  end subroutine enter

  subroutine expect(holds)
    logical, intent(in) :: holds

    if (.not. holds) failures = failures + 1
  end subroutine expect
end program packed
