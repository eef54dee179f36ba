! Runs uneven exchanges, and what they need at run time, in every way and prints PASS, or what went
! wrong.
module checks
  use mpi
  use asphalt_pieces, only: iterations_for, most_pieces, next_piece, pieces_of, posts_of
  use asphalt_exchange, only: asphalt_exchange_t, keep_buffers, receive_piece, send_piece
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer, parameter :: long = selected_int_kind(18)
  integer :: failures = 0
  integer :: own, me, np, k, d, error
  logical :: begun, tiled
  !> Elements of the first piece that was computed.
  integer :: piece
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(3a,7i12)', 'FAIL ', what, ': own me np k piece d error', own, me, np, k, piece, d, error
  end subroutine check

  !> An exchange of such blocks, which come one behind the other.
  subroutine enter(elements, trips, wanted_k, legal, counts, displs, slab, spread)
    integer, intent(in) :: elements, trips, wanted_k, counts(:), displs(:), spread
    logical, intent(in) :: legal, slab
    integer :: arrive(size(counts)), landing(size(counts)), lo, hi, p, done, tiles, ierror
    double precision, allocatable :: s(:), r(:), want(:)
    type(asphalt_uneven_t) :: x
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Alltoall(counts, 1, MPI_INTEGER, arrive, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    landing = [(sum(arrive(:p-1)), p=1,size(counts))]
    allocate(s(max(0, maxval(displs + counts))), r(max(0, sum(arrive))))
    s = [(1000*me + p, p=1,size(s))]
    r = -1
    want = r
    call x%begin_uneven(MPI_COMM_WORLD, s, counts, displs, r, arrive, landing, &
                        MPI_DOUBLE_PRECISION, bytes=8, unit=elements, first=1, last=trips, &
                        k=wanted_k, d=2, slab=slab, spread=spread, tiled=legal)
    own = x%comm
    np = x%np
    k = x%k
    d = x%d
    begun = x%tiled
    call check(me == x%me .and. size(counts) == np, 'rank and size')
    call check(allocated(x%messages%requests) .or. .not. begun, 'requests of sends')
    if (begun .and. wanted_k > 0 .and. np > 1) &
      call check(size(x%messages%requests) == d*merge(1, np, slab), 'nothing is known yet')
    done = 0
    tiles = 0
    piece = 0
    do while (x%next_tile(s))
      lo = x%lo
      hi = x%hi
      if (tiles == 0) piece = elements*(hi - lo + 1)
      done = done + max(0, hi - lo + 1)
      tiles = tiles + 1
    end do
    lo = x%lo
    call check(done == max(0, trips), 'all iterations')
    call check(lo == max(1, trips + 1), 'the value of the loop variable')
    call check(x%error == MPI_SUCCESS, 'no error')
    ierror = -77
    tiled = x%finished(s, r, ierror)
    error = x%error
    call check(ierror == merge(MPI_SUCCESS, -77, tiled), 'the error code')
    call check(.not. allocated(x%messages), 'nothing is left')
    if (.not. tiled) call check(all(r == want), 'nothing came')
    if (.not. tiled) return
    call MPI_Alltoallv(s, counts, displs, MPI_DOUBLE_PRECISION, want, arrive, landing, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call check(all(r == want), 'what came')
  end subroutine enter
end module checks

program main
  use checks
  implicit none
  integer :: rank, ranks, ierr, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call slabs()
  call blocks()
  call chosen()
  call each_its_own(.false.)
  call each_its_own(.true.)
  call cutting()
  call places()
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)

contains

  subroutine slabs()
    integer :: counts(ranks), displs(ranks), p, last
    last = merge(1, 0, rank == ranks - 1)
    counts = [(6*p, p=0,ranks-1)]
    displs = [(sum(counts(:p-1)), p=1,ranks)]
    total = sum(counts)/6
    call enter(6, total, 1, .true., counts, displs, .true., 0)
    call check(tiled .eqv. ranks > 1, 'slabs')
    call check(k == 1 .and. (piece == 6 .or. ranks == 1), 'its piece')
    if (ranks == 1) return
    call enter(6, total, 100, .true., counts, displs, .true., 0)
    call check(k == ranks - 1, 'k beyond the longest block')
    call enter(6/(1 + last), total*(1 + last), 1, .true., counts, displs, .true., 0)
    call check(piece == 6/(1 + last) .and. k == 1, 'each rank has its unit')
    call check(tiled, 'all tile')
    call enter(6, total, 1, last == 0, counts, displs, .true., 0)
    call check(.not. tiled, 'not legal on the last rank')
    call check(last == 0 .eqv. begun, 'the others begin with their pieces')
    call check(piece == merge(6, 6*total, last == 0), 'and go on with them')
    call check(last == 0 .or. own == MPI_COMM_WORLD, 'it does not')
    call enter(6, total + last, 1, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'planes that nobody gets')
    call enter(5 + last, total, 1, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'blocks that are no whole planes')
    displs(ranks) = displs(ranks) + last
    call enter(6, total, 1, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'a gap between two blocks')
    displs(ranks) = displs(ranks) - last
    displs(1) = 77
    call enter(6, total, 1, .true., counts, displs, .true., 0)
    call check(tiled .and. k == 1, 'where an empty block begins does not matter')
    counts = counts*(1 - last)
    call enter(6*(1 - last), total, 1, .true., counts, displs, .true., 0)
    call check(tiled .and. k == 1 .and. piece == 6 - 6*last, 'a rank that adds nothing')
    call check(d == merge(1, min(2, ranks*(ranks - 1)/2), rank == ranks - 1), 'its depth')
    counts = 0
    call enter(6, 0, 1, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'nothing on any rank')
    counts(1) = -6*last
    call enter(6, 0, 1, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'a negative count')
  end subroutine slabs

  subroutine blocks()
    integer :: counts(ranks), displs(ranks), p, last
    last = merge(1, 0, rank == ranks - 1)
    counts = [(5 + p + rank, p=0,ranks-1)]
    displs = [(20*(ranks - p), p=1,ranks)]
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(tiled .and. k == 2, 'blocks in any order')
    counts(1) = 20 + last
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(.not. tiled, 'a block that is longer than its column')
    counts(1) = 20
    displs(1) = displs(1) + last
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(.not. tiled, 'a block that begins inside of a column')
    displs(1) = displs(1) - last
    call enter(4, 0, 2, .true., counts, displs, .false., 20)
    call check(tiled .and. k == 2, 'what no iteration writes is sent, too')
  end subroutine blocks

  subroutine chosen()
    integer :: counts(ranks), displs(ranks), p
    counts = 32*4096*(rank + 1)
    displs = [(counts(1)*(p - 1), p=1,ranks)]
    call enter(4096, 32*ranks*(rank + 1), 0, .true., counts, displs, .true., 0)
    call check(tiled .eqv. ranks > 1, 'pieces of 256 KiB')
    call check(tiled .eqv. begun, 'known on entry')
    call check(k*4096*8 >= 262144 .or. ranks == 1, 'not below')
    counts = 10
    displs = [(10*(p - 1), p=1,ranks)]
    call enter(1, 10*ranks, 0, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'tiny')
  end subroutine chosen

  !> Rank p sends pieces of p+1 elements: all post what the senders cut, as soon as they know it
  !! if `meanwhile`.
  subroutine each_its_own(meanwhile)
    logical, intent(in) :: meanwhile
    type(asphalt_uneven_t) :: x
    integer :: counts(0:ranks-1), displs(0:ranks-1), p, from, lo, hi, sends
    double precision :: s(0:12*ranks-1), r(0:12*ranks-1)
    logical :: last
    counts = 12
    displs = [(12*p, p=0,ranks-1)]
    s = [(100*rank + from, from=0,12*ranks-1)]
    r = -1
    call x%begin_uneven(MPI_COMM_WORLD, s, counts, displs, r, counts, displs, &
                        MPI_DOUBLE_PRECISION, bytes=8, unit=rank + 1, first=1, &
                        last=12*ranks/(rank + 1), k=1, d=2, slab=.true., entered=.true.)
    call check(x%k == 1 .and. x%d == 2, 'its own')
    sends = 2
    do
      lo = x%lo
      hi = x%hi
      call check(lo == hi, 'one iteration')
      do while (meanwhile .and. size(x%messages%requests) == sends)  ! ends when all have told
        call x%progress()
      end do
      last = .not. x%next_tile(s)
      call check(x%tiled, 'pieces of several lengths')
      call check(size(x%messages%requests) == sends + sum([(12/(p + 1), p=0,ranks-1)]), 'as many as come')
      if (last) exit
    end do
    lo = x%lo
    call check(x%finished(s, r, error), 'they are tiled')
    call check(all(r == [((100*p + 12*rank + from, from=0,11), p=0,ranks-1)]), 'what came')
  end subroutine each_its_own

  subroutine cutting()
    integer, parameter :: counts(0:4) = [0, 7, 0, 3, 0]
    integer :: peer, from, count, found(3, 4), number
    call check(pieces_of(counts, 5, 3) == 4, 'pieces')
    call check(most_pieces(counts, 5, 3) == 3, 'most pieces')
    call check(posts_of(counts, 5, [1, 2, 1, 3, 1]) == 5, 'posts')
    call check(pieces_of(counts, 5, huge(1)) == 2, 'long pieces')
    peer = 2
    from = 0
    count = counts(peer)
    do number = 1, 4
      call next_piece(counts, 5, 3, peer, from, count)
      found(:, number) = [peer, from, count]
    end do
    call check(all(found == reshape([3, 0, 3, 1, 0, 3, 1, 3, 3, 1, 6, 1], [3, 4])), 'next pieces')
    call check(iterations_for(7, 3) == 3 .and. iterations_for(6, 3) == 2, 'iterations')
    call check(iterations_for(7, 0) == 0 .and. iterations_for(0, 3) == 0, 'no iterations')
    call check(iterations_for(huge(1), huge(1) - 1) == 2, 'many elements')
  end subroutine cutting

  subroutine places()
    double precision :: s(3, 4), r(12)
    character(2) :: text(4), heard(4)
    type(asphalt_exchange_t) :: x
    integer :: n
    s = reshape([(dble(n), n=1,12)], [3, 4])
    r = 0
    x%comm = MPI_COMM_WORLD
    x%bytes = 8
    allocate(x%messages)
    call keep_buffers(x, s, r, 2)
    call receive_piece(x, 1_long, 5, MPI_DOUBLE_PRECISION, rank, 1)
    call send_piece(x, 4_long, 5, MPI_DOUBLE_PRECISION, rank, 2)
    call MPI_Waitall(2, x%messages%requests, MPI_STATUSES_IGNORE, x%error)
    call check(all(r == [0, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0]), 'places in memory')
    text = ['ab', 'cd', 'ef', 'gh']
    heard = '..'
    x%bytes = 1
    deallocate(x%messages%requests)
    call keep_buffers(x, text, heard, 2)
    call receive_piece(x, 5_long, 3, MPI_CHARACTER, rank, 1)
    call send_piece(x, 1_long, 3, MPI_CHARACTER, rank, 2)
    call MPI_Waitall(2, x%messages%requests, MPI_STATUSES_IGNORE, x%error)
    call check(heard(3) == '.b' .and. heard(4) == 'cd', 'places in characters')
    call check(x%error == MPI_SUCCESS, 'no error')
  end subroutine places
end program main
