! Calls what uneven exchanges need at run time in every way and prints PASS, or what went wrong.
module checks
  use mpi
  use asphalt_core, only: asphalt_no_request, asphalt_waitall
  use asphalt_pieces, only: asphalt_irecv_at, asphalt_isend_at, asphalt_iterations, &
                            asphalt_most_pieces, asphalt_next_piece, asphalt_pieces_of, &
                            asphalt_posts_of
  use asphalt_exchange, only: asphalt_progress
  use asphalt_uneven, only: asphalt_answers, asphalt_enter_uneven, asphalt_hear
  implicit none
  integer :: failures = 0
  integer :: own, me, np, k, piece, d, error
  logical :: tiled
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(3a,8i12)', 'FAIL ', what, ': own me np k piece d error', own, me, np, k, piece, d, error
  end subroutine check

  subroutine enter(elements, trips, wanted_k, legal, counts, displs, slab, spread)
    integer, intent(in) :: elements, trips, wanted_k, counts(:), displs(:), spread
    logical, intent(in) :: legal, slab
    type(asphalt_answers) :: answers
    integer, allocatable :: requests(:)
    double precision :: r(1)
    call asphalt_enter_uneven(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, elements, trips, 1, &
                              wanted_k, 2, legal, counts, displs, counts, slab, spread, own, me, &
                              np, k, piece, answers, d, error)
    tiled = k > 0
    allocate(requests(3), source=asphalt_no_request)
    if (tiled) call asphalt_hear(answers, .false., r, 0*counts, displs, requests, tiled, error)
    call check((tiled .eqv. k > 0) .or. np == 1, 'nothing is known yet')
    if (tiled) call asphalt_hear(answers, .true., r, 0*counts, displs, requests, tiled, error)
    call check(size(requests) == 3 .and. error == MPI_SUCCESS, 'heard')
    if (tiled) call asphalt_hear(answers, .true., r, 0*counts, displs, requests, tiled, error)
    call check(size(requests) == 3 .and. error == MPI_SUCCESS, 'heard once')
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
    call check(piece == merge(1, 6, ranks == 1), 'its piece')
    if (ranks == 1) return
    call enter(6, total, 100, .true., counts, displs, .true., 0)
    call check(piece == 6*(ranks - 1), 'k beyond the longest block')
    call enter(6/(1 + last), total*(1 + last), 1, .true., counts, displs, .true., 0)
    call check(piece == 6/(1 + last) .and. k == 1, 'each rank has its unit')
    call check(tiled, 'all tile')
    call enter(6, total, 1, last == 0, counts, displs, .true., 0)
    call check(.not. tiled, 'not legal on the last rank')
    call check(last == 0 .eqv. piece == 6, 'the others begin with their pieces')
    call check(last == 0 .or. (k == 0 .and. piece == 0 .and. own == MPI_COMM_WORLD), 'it does not')
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
    call check(tiled .and. k == 1 .and. piece == 6 - 5*last, 'a rank that adds nothing')
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
    call check(tiled .and. k == 2 .and. piece == 8, 'blocks in any order')
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
    call check(tiled .eqv. k > 0, 'known on entry')
    call check(piece*8 >= 262144 .or. ranks == 1, 'not below')
    counts = 10
    displs = [(10*(p - 1), p=1,ranks)]
    call enter(1, 10*ranks, 0, .true., counts, displs, .true., 0)
    call check(.not. tiled, 'tiny')
  end subroutine chosen

  !> Rank p sends pieces of p+1 elements: all post what the senders cut, as soon as they know it
  !! if `meanwhile`.
  subroutine each_its_own(meanwhile)
    logical, intent(in) :: meanwhile
    type(asphalt_answers) :: answers
    integer :: counts(0:ranks-1), displs(0:ranks-1), p, from, slot
    integer, allocatable :: requests(:)
    double precision :: s(0:12*ranks-1), r(0:12*ranks-1)
    integer :: turn
    counts = 12
    displs = [(12*p, p=0,ranks-1)]
    s = [(100*rank + from, from=0,12*ranks-1)]
    r = -1
    call asphalt_enter_uneven(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, rank + 1, 12*ranks/(rank + 1), &
                              1, 1, 2, .true., counts, displs, counts, .true., 0, own, me, np, k, &
                              piece, answers, d, error)
    call check(piece == rank + 1 .and. k == 1, 'its own')
    tiled = k > 0
    allocate(requests(12*ranks), source=asphalt_no_request)
    turn = 0
    do while (meanwhile .and. size(requests) == 12*ranks)  ! ends when all have told
      call asphalt_hear(answers, .false., r, counts, displs, requests, tiled, error)
      call asphalt_progress(requests, turn, k, error)
    end do
    call asphalt_hear(answers, .true., r, counts, displs, requests, tiled, error)
    call check(tiled, 'pieces of several lengths')
    call check(size(requests) == 12*ranks + sum([(12/(p + 1), p=0,ranks-1)]), 'as many as come')
    call check(all(requests(:12*ranks) == asphalt_no_request), 'those of the sends are free')
    slot = 0
    do p = 0, ranks - 1
      do from = 0, 11, piece
        slot = slot + 1
        call asphalt_isend_at(s, displs(p) + from, piece, MPI_DOUBLE_PRECISION, p, 0, own, &
                              requests(slot), error)
      end do
    end do
    call asphalt_waitall(size(requests), requests, error)
    call check(all(r == [((100*p + 12*rank + from, from=0,11), p=0,ranks-1)]), 'what came')
  end subroutine each_its_own

  subroutine cutting()
    integer, parameter :: counts(0:4) = [0, 7, 0, 3, 0]
    integer :: peer, from, count, found(3, 4), number
    call check(asphalt_pieces_of(counts, 5, 3) == 4, 'pieces')
    call check(asphalt_most_pieces(counts, 5, 3) == 3, 'most pieces')
    call check(asphalt_posts_of(counts, 5, [1, 2, 1, 3, 1]) == 5, 'posts')
    call check(asphalt_pieces_of(counts, 5, huge(1)) == 2, 'long pieces')
    peer = 2
    from = 0
    count = counts(peer)
    do number = 1, 4
      call asphalt_next_piece(counts, 5, 3, peer, from, count)
      found(:, number) = [peer, from, count]
    end do
    call check(all(found == reshape([3, 0, 3, 1, 0, 3, 1, 3, 3, 1, 6, 1], [3, 4])), 'next pieces')
    call check(asphalt_iterations(7, 3) == 3 .and. asphalt_iterations(6, 3) == 2, 'iterations')
    call check(asphalt_iterations(7, 0) == 0 .and. asphalt_iterations(0, 3) == 0, 'no iterations')
    call check(asphalt_iterations(huge(1), huge(1) - 1) == 2, 'many elements')
  end subroutine cutting

  subroutine places()
    double precision :: s(3, 4), r(12)
    character(2) :: text(4), heard(4)
    integer :: requests(2), n
    s = reshape([(dble(n), n=1,12)], [3, 4])
    r = 0
    requests = asphalt_no_request
    error = MPI_SUCCESS
    call asphalt_irecv_at(r, 1, 5, MPI_DOUBLE_PRECISION, rank, 0, own, requests(1), error)
    call asphalt_isend_at(s, 4, 5, MPI_DOUBLE_PRECISION, rank, 0, own, requests(2), error)
    call asphalt_waitall(2, requests, error)
    call check(all(r == [0, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0]), 'places in memory')
    text = ['ab', 'cd', 'ef', 'gh']
    heard = '..'
    call asphalt_irecv_at(heard, 5, 3, MPI_CHARACTER, rank, 0, own, requests(1), error)
    call asphalt_isend_at(text, 1, 3, MPI_CHARACTER, rank, 0, own, requests(2), error)
    call asphalt_waitall(2, requests, error)
    call check(heard(3) == '.b' .and. heard(4) == 'cd', 'places in characters')
    call check(error == MPI_SUCCESS, 'no error')
  end subroutine places
end program main
