! Calls what uneven exchanges need at run time in every way and prints PASS, or what went wrong.
module checks
  use mpi
  use asphalt_rt, only: asphalt_enter_uneven, asphalt_irecv_at, asphalt_isend_at, &
                        asphalt_iterations, asphalt_most_pieces, asphalt_next_piece, &
                        asphalt_no_request, asphalt_pieces_of, asphalt_posts_of, &
                        asphalt_waitall
  implicit none
  integer :: failures = 0
  integer :: own, me, np, k, piece, d, error
  integer, allocatable :: cuts(:)
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
    call asphalt_enter_uneven(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, elements, trips, 1, &
                              wanted_k, 2, legal, counts, displs, counts, slab, spread, own, me, &
                              np, k, piece, cuts, d, error)
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
    call check(k == merge(0, 1, ranks == 1) .and. piece == 6*k, 'slabs')
    if (ranks == 1) return
    call enter(6, total, 100, .true., counts, displs, .true., 0)
    call check(piece == 6*(ranks - 1), 'k beyond the longest block')
    call enter(6/(1 + last), total*(1 + last), 1, .true., counts, displs, .true., 0)
    call check(piece == 6/(1 + last) .and. k == 1, 'each rank has its unit')
    call check(all(cuts == [(6, p=1,ranks-1), 3]) .and. lbound(cuts, 1) == 0, 'all know it')
    call enter(6, total, 1, last == 0, counts, displs, .true., 0)
    call check(k == 0 .and. piece == 0 .and. own == MPI_COMM_WORLD, 'not legal on the last rank')
    call check(size(cuts) == ranks .and. all(cuts == 0), 'no pieces')
    call enter(6, total + last, 1, .true., counts, displs, .true., 0)
    call check(k == 0, 'planes that nobody gets')
    call enter(5 + last, total, 1, .true., counts, displs, .true., 0)
    call check(k == 0, 'blocks that are no whole planes')
    displs(ranks) = displs(ranks) + last
    call enter(6, total, 1, .true., counts, displs, .true., 0)
    call check(k == 0, 'a gap between two blocks')
    displs(ranks) = displs(ranks) - last
    displs(1) = 77
    call enter(6, total, 1, .true., counts, displs, .true., 0)
    call check(k == 1, 'where an empty block begins does not matter')
    counts = counts*(1 - last)
    call enter(6*(1 - last), total, 1, .true., counts, displs, .true., 0)
    call check(k == 1 .and. piece == 6 - 5*last, 'a rank that adds nothing')
    call check(d == merge(1, min(2, ranks*(ranks - 1)/2), rank == ranks - 1), 'its depth')
    counts = 0
    call enter(6, 0, 1, .true., counts, displs, .true., 0)
    call check(k == 0, 'nothing on any rank')
    counts(1) = -6*last
    call enter(6, 0, 1, .true., counts, displs, .true., 0)
    call check(k == 0, 'a negative count')
  end subroutine slabs

  subroutine blocks()
    integer :: counts(ranks), displs(ranks), p, last
    last = merge(1, 0, rank == ranks - 1)
    counts = [(5 + p + rank, p=0,ranks-1)]
    displs = [(20*(ranks - p), p=1,ranks)]
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(k == 2 .and. piece == 8, 'blocks in any order')
    counts(1) = 20 + last
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(k == 0, 'a block that is longer than its column')
    counts(1) = 20
    displs(1) = displs(1) + last
    call enter(4, 5, 2, .true., counts, displs, .false., 20)
    call check(k == 0, 'a block that begins inside of a column')
    displs(1) = displs(1) - last
    call enter(4, 0, 2, .true., counts, displs, .false., 20)
    call check(k == 2, 'what no iteration writes is sent, too')
  end subroutine blocks

  subroutine chosen()
    integer :: counts(ranks), displs(ranks), p
    counts = 32*4096*(rank + 1)
    displs = [(counts(1)*(p - 1), p=1,ranks)]
    call enter(4096, 32*ranks*(rank + 1), 0, .true., counts, displs, .true., 0)
    call check(k > 0 .eqv. ranks > 1, 'pieces of 256 KiB')
    call check(piece*8 >= 262144 .or. ranks == 1, 'not below')
    counts = 10
    displs = [(10*(p - 1), p=1,ranks)]
    call enter(1, 10*ranks, 0, .true., counts, displs, .true., 0)
    call check(k == 0, 'tiny')
  end subroutine chosen

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
