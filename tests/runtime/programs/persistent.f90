! Exchanges that are made again and again, and whose messages are kept from one to the next, if all
! is as it was.  With the argument `threads`: MPI_THREAD_MULTIPLE, where nothing is kept.
module exchanges
  use mpi
  use asphalt_backend_persistent, only: kept_requests
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_packed, only: asphalt_packed_t
  use asphalt_strided, only: asphalt_strided_t
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer, parameter :: n = 3, most_ranks = 4, planes = 6, all_planes = 2*n*planes*most_ranks
  external :: asphalt_by_isend, asphalt_by_persistent
  integer :: me, np, ierr, wrong = 0, round = 0
  !> Whether this MPI lets anything be kept.
  logical :: keeps
  integer :: s(all_planes), r(all_planes), t(all_planes), u(all_planes)
contains

  !> What rank `from` has as element `i` of its block for rank `to`, counted from 1.
  pure integer function value(from, to, i)
    integer, intent(in) :: from, to, i
    value = 100000*round + 10000*from + 1000*to + i
  end function value

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a,3i6)', 'FAIL ', what, me, round, kept_requests
  end subroutine expect

  !> One exchange of blocks on `comm`, of `many` planes of n elements; `nested`: while it goes on,
  !! so does another one of the same site.
  recursive subroutine blocks(comm, site, a, b, many, k, d, lasting, slab, nested)
    integer, intent(in) :: comm, many, k, d
    character(*), intent(in) :: site
    integer, intent(inout) :: a(n, many, *), b(n, many, *)
    logical, intent(in) :: lasting, slab
    logical, intent(in), optional :: nested
    integer :: rank, number, z, p, i, own, kept
    type(asphalt_exchange_t) :: x
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, number, ierr)
    call x%begin(comm, a, b, n*many, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=merge(number, 1, slab)*many, k=k, d=d, slab=slab, site=site, &
                 backend=asphalt_by_persistent, lasting=lasting)
    call expect(x%tiled, 'tiled')
    do while (x%next_tile(a))
      do z = x%lo, x%hi
        call x%progress()
        do p = 1, number
          if (slab .and. p /= (z - 1)/many + 1) cycle
          own = merge(mod(z - 1, many) + 1, z, slab)
          a(:,own,p) = [(value(rank, p - 1, n*own + i), i=1,n)]
        end do
      end do
    end do
    if (present(nested)) then
      kept = kept_requests
      call blocks(comm, site, t, u, many, 1, d, lasting, slab)
      call expect(kept_requests == kept, 'nobody else takes what is under way')
    end if
    call expect(x%finished(a, b), 'finished')
    do p = 1, number
      do z = 1, many
        call expect(all(b(:,z,p) == [(value(p - 1, rank, n*z + i), i=1,n)]), site)
      end do
    end do
  end subroutine blocks

  !> The same where the planes lie across the blocks, or `z` and `i` in the other order.
  subroutine strided(many, rows, a, b, elsewhere)
    integer, intent(in) :: many, rows
    integer, intent(inout) :: a(many, rows, *), b(many, rows, *)
    logical, intent(in) :: elsewhere
    integer :: z, p, i
    integer, allocatable :: strides(:)
    type(asphalt_strided_t) :: x
    if (elsewhere) strides = [1, many, many*rows]
    call x%begin_strided(MPI_COMM_WORLD, a, b, many*rows, MPI_INTEGER, bytes=4, &
                         unit=rows, first=1, last=many, k=2, d=2, extents=[many, rows], &
                         along=1, strides=strides, &
                         backend=asphalt_by_persistent, site='strided', lasting=.true.)
    do while (x%next_tile(a))
      do z = x%lo, x%hi
        do p = 1, np
          a(z,:,p) = [(value(me, p - 1, 100*z + i), i=1,rows)]
        end do
      end do
    end do
    call expect(x%finished(a, b), 'strided tiles')
    do p = 1, np
      do z = 1, many
        call expect(all(b(z,:,p) == [(value(p - 1, me, 100*z + i), i=1,rows)]), 'strided')
      end do
    end do
  end subroutine strided

  !> Rank r has r+1 planes for each other one.
  subroutine uneven(k)
    integer, intent(in) :: k
    integer :: i, z, p
    integer, dimension(np) :: counts, displs, arrive, landing
    type(asphalt_uneven_t) :: x
    counts = n*(me + 1)
    displs = [(n*planes*(p - 1), p=1,np)]
    arrive = [(n*p, p=1,np)]
    landing = [(n*(p*(p - 1))/2, p=1,np)]
    call x%begin_uneven(MPI_COMM_WORLD, s, counts, displs, r, arrive, landing, &
                        MPI_INTEGER, bytes=4, unit=n, first=1, last=me + 1, k=k, d=2, &
                        spread=n*planes, &
                        backend=asphalt_by_persistent, site='uneven', lasting=.true.)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        call x%progress()
        do p = 1, np
          s(displs(p)+n*(z-1)+1:displs(p)+n*z) = [(value(me, p - 1, n*z + i), i=1,n)]
        end do
      end do
    end do
    call expect(x%finished(s, r), 'uneven blocks are tiled')
    do p = 1, np
      do z = 1, p
        call expect(all(r(landing(p)+n*(z-1)+1:landing(p)+n*z) &
                        == [(value(p - 1, me, n*z + i), i=1,n)]), 'uneven')
      end do
    end do
  end subroutine uneven

  !> An iteration adds i elements to the block for rank i-1.
  subroutine packed(k)
    integer, intent(in) :: k
    integer :: i, z, p
    integer, dimension(np) :: units, counts, displs, arrive, landing
    type(asphalt_packed_t) :: x
    units = [(p, p=1,np)]
    counts = planes*units
    displs = [(planes*(p*(p - 1))/2, p=1,np)]
    arrive = planes*(me + 1)
    landing = [(planes*(me + 1)*(p - 1), p=1,np)]
    call x%begin_packed(MPI_COMM_WORLD, s, displs, u, arrive, landing, MPI_INTEGER, bytes=4, &
                        send_counts=counts, units=units, first=1, last=planes, k=k, d=2, &
                        site='packed', &
                        backend=asphalt_by_persistent, lasting=.true.)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        do p = 1, np
          s(displs(p)+p*(z-1)+1:displs(p)+p*z) = [(value(me, p - 1, n*z + i), i=1,p)]
        end do
      end do
    end do
    call expect(x%finished(s, u), 'packed blocks are tiled')
    do p = 1, np
      do z = 1, planes
        call expect(all(u(landing(p)+(me+1)*(z-1)+1:landing(p)+(me+1)*z) &
                        == [(value(p - 1, me, n*z + i), i=1,me+1)]), 'packed')
      end do
    end do
  end subroutine packed

  !> The requests that are kept of one round of all exchanges are those of the next.
  subroutine rounds()
    integer :: before, times, own, k
    do k = 1, 4, 3
      do times = 1, 3
        before = kept_requests
        round = round + 1
        call blocks(MPI_COMM_WORLD, 'blocks', s, r, planes, k, 2, .true., .false.)
        call blocks(MPI_COMM_WORLD, 'slabs', s, r, planes, k, 2, .true., .true.)
        call strided(planes, n, s, r, .false.)
        call strided(planes, n, t, u, .true.)
        call uneven(k)
        call packed(k)
        own = kept_requests
        call expect((own > 0) .eqv. keeps, 'requests are kept')
        if (times > 1 .or. k > 1) call expect(own == before, 'they are those of before')
      end do
    end do
  end subroutine rounds

  !> Another layout of the same elements, whose data type may get the handle of the first.
  subroutine other_layouts()
    integer :: times
    do times = 1, 3
      round = round + 1
      call strided(planes, n, s, r, .false.)
      round = round + 1
      call strided(n, planes, s, r, .false.)
      round = round + 1
      call strided(2*n, planes/2, s, r, .true.)
    end do
  end subroutine other_layouts

  !> Data types of the program may be freed, and arrays that are not static may go.
  subroutine not_kept()
    integer :: before, i, rank
    integer, allocatable :: a(:), b(:)
    integer :: pair
    type(asphalt_exchange_t) :: x
    before = kept_requests
    allocate(a(all_planes), b(all_planes))
    round = round + 1
    call blocks(MPI_COMM_WORLD, 'passing', a, b, planes, 2, 2, .false., .false.)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierr)
    call MPI_Type_commit(pair, ierr)
    s(:8*np) = [(me, i=1,8*np)]
    call x%begin(MPI_COMM_WORLD, s, r, 4, pair, bytes=8, unit=1, first=1, last=4, k=1, &
                 d=1, backend=asphalt_by_persistent, site='pairs', lasting=.true.)
    do while (x%next_tile(s))
    end do
    call expect(x%finished(s, r), 'pairs are tiled')
    call expect(all(r(:8*np) == [((rank, i=1,8), rank=0,np-1)]), 'pairs')
    call MPI_Type_free(pair, ierr)
    call expect(kept_requests == before, 'neither types of the program nor passing arrays')
  end subroutine not_kept

  !> A communicator goes, and another one gets its handle.
  subroutine communicators()
    integer :: comm, before, times, turned
    before = kept_requests
    do times = 1, 4
      turned = merge(me, -me, mod(times, 2) == 0)
      call MPI_Comm_split(MPI_COMM_WORLD, 0, turned, comm, ierr)
      round = round + 1
      call blocks(comm, 'blocks', s, r, planes, 1, 2, .true., .false.)
      round = round + 1
      call blocks(comm, 'blocks', s, r, planes, 1, 2, .true., .false.)
      call expect((kept_requests > before) .eqv. keeps, 'on a communicator')
      call MPI_Comm_free(comm, ierr)
      call expect(kept_requests == before, 'they go with their communicator')
    end do
  end subroutine communicators

  !> A communicator is freed while its exchange goes on.
  subroutine freed_meanwhile()
    integer :: comm, before, z, p, i
    integer :: a(n, planes, most_ranks), b(n, planes, most_ranks)
    type(asphalt_exchange_t) :: x
    before = kept_requests
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call x%begin(comm, a, b, n*planes, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=planes, k=2, d=1, alone=.true., &
                 backend=asphalt_by_persistent, site='meanwhile', lasting=.true.)
    do while (x%next_tile(a))
      do z = x%lo, x%hi
        a(:,z,:) = spread([(value(me, p, z), p=0,most_ranks-1)], 1, n)
      end do
    end do
    call MPI_Comm_free(comm, ierr)
    call expect(x%finished(a, b), 'freed meanwhile')
    do p = 1, np
      do z = 1, planes
        call expect(all(b(:,z,p) == [(value(p - 1, me, z), i=1,n)]), 'what came meanwhile')
      end do
    end do
    call expect(kept_requests == before, 'they go behind the exchange')
  end subroutine freed_meanwhile

  !> Ranks that do not agree about what carries the pieces do not tile.
  subroutine disagreement()
    procedure(), pointer :: another
    integer :: ones(np), places(np), p
    type(asphalt_exchange_t) :: x
    type(asphalt_uneven_t) :: y
    type(asphalt_packed_t) :: z
    another => asphalt_by_isend
    if (me == np - 1) another => asphalt_by_persistent
    ones = 1
    places = [(p - 1, p=1,np)]
    call x%begin(MPI_COMM_WORLD, s, r, n, MPI_INTEGER, bytes=4, unit=n, first=1, last=1, &
                 k=1, d=1, backend=another, site='x', lasting=.true.)
    call expect(.not. x%tiled, 'ranks disagree about blocks')
    call y%begin_uneven(MPI_COMM_WORLD, s, ones, places, r, ones, places, MPI_INTEGER, &
                        bytes=4, unit=1, first=1, last=1, k=1, d=1, spread=1, &
                        backend=another, site='y', lasting=.true.)
    do while (y%next_tile(s))
    end do
    call expect(.not. y%finished(s, r), 'ranks disagree about uneven blocks')
    call z%begin_packed(MPI_COMM_WORLD, s, places, r, ones, places, MPI_INTEGER, bytes=4, &
                        units=ones, first=1, last=1, k=1, d=1, site='z', &
                        backend=another, lasting=.true.)
    call expect(.not. z%tiled, 'ranks disagree about packed blocks')
  end subroutine disagreement

  !> More sites than the table has, which all are exchanged.
  subroutine many_sites()
    character(4) :: site
    integer :: number, before = 0
    do number = 1, 70
      write(site, '(a,i3)') 's', number
      round = round + 1
      call blocks(MPI_COMM_WORLD, site, s, r, 2, 1, 1, .true., .false.)
      if (number == 69) before = kept_requests
    end do
    call expect(kept_requests == before, 'the table is full')
  end subroutine many_sites
end module exchanges

program main
  use exchanges
  implicit none
  character(4096) :: version
  integer :: length, total, provided, left
  logical :: threads
  threads = command_argument_count() > 0
  call MPI_Init_thread(merge(MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE, threads), provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Get_library_version(version, length, ierr)
  keeps = version(:4) /= 'SMPI' .and. provided /= MPI_THREAD_MULTIPLE
  call rounds()
  call other_layouts()
  call not_kept()
  round = round + 1
  call blocks(MPI_COMM_WORLD, 'nested', s, r, planes, 3, 2, .true., .false., .true.)
  round = round + 1
  call blocks(MPI_COMM_WORLD, 'nested', t, u, planes, 1, 2, .true., .false.)
  call communicators()
  call freed_meanwhile()
  if (np > 1) call disagreement()
  call many_sites()
  call MPI_Comm_dup(MPI_COMM_WORLD, left, ierr)
  call blocks(left, 'left', s, r, planes, 1, 2, .true., .false.)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)
  if (kept_requests /= 0) print '(a)', 'FAIL left at the end'
end program main
