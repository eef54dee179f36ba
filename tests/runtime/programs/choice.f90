! Enters exchanges again and again, ranks with different sizes among them: the choice must be the
! same on all ranks of a communicator, and nobody may wait for somebody who does not ask.
module checks
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer :: failures = 0
  integer :: own, me, np, k, d, error
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(3a,7i12)', 'FAIL ', what, ': own me np k d error', own, me, np, k, d, error
  end subroutine check

  !> Begins with a block of `trips` times 64 KiB for each rank.
  subroutine even(site, comm, trips, legal, certain)
    character(*), intent(in) :: site
    integer, intent(in) :: comm, trips
    logical, intent(in) :: legal, certain
    type(asphalt_exchange_t) :: x
    double precision :: s(1), r(1)
    call x%begin(comm, s, r, 8192*trips, MPI_DOUBLE_PRECISION, bytes=8, unit=8192, &
                 first=1, last=trips, k=0, d=2, tiled=legal, uniform=certain, site=site)
    own = x%comm
    me = x%me
    np = x%np
    k = x%k
    d = x%d
    error = x%error
    call check(x%finished(s, r, error) .eqv. k > 0, 'what was begun')
  end subroutine even

  !> The same, but the ranks do not know that they have equally long blocks: `trips` of each rank,
  !! which sends `trips` times 64 KiB to each other one.
  subroutine uneven(site, comm, trips, legal)
    character(*), intent(in) :: site
    integer, intent(in) :: comm, trips(0:)
    logical, intent(in) :: legal
    integer, allocatable :: counts(:), displs(:), arrive(:), landing(:)
    double precision, allocatable :: s(:), r(:)
    integer :: p, mine, lo, hi
    logical :: begun
    type(asphalt_uneven_t) :: x
    call MPI_Comm_rank(comm, me, error)
    mine = 8192*trips(me)
    counts = [(mine, p=1,size(trips))]
    displs = [(mine*(p - 1), p=1,size(trips))]
    arrive = 8192*trips
    landing = [(sum(arrive(:p-1)), p=1,size(trips))]
    allocate(s(mine*size(trips)), r(sum(arrive)))
    s = me
    r = -1
    call x%begin_uneven(comm, s, counts, displs, r, arrive, landing, &
                        MPI_DOUBLE_PRECISION, bytes=8, unit=8192, first=1, last=trips(me), &
                        k=0, d=2, tiled=legal, spread=mine, site=site)
    own = x%comm
    np = x%np
    k = merge(x%k, 0, x%tiled)
    d = x%d
    error = x%error
    begun = x%tiled
    do while (x%next_tile(s))
      lo = x%lo
      hi = x%hi
    end do
    lo = x%lo
    call check(x%finished(s, r, error) .eqv. begun, 'all is known on entry')
    call check(all(r == [((merge(p, -1, begun), lo=1,arrive(p+1)), p=0,np-1)]), 'what came')
  end subroutine uneven

  !> Whether all ranks of a communicator came to the same choice.
  logical function agreed(comm)
    integer, intent(in) :: comm
    integer :: mine(2), most(2), ierr
    mine = [k, -k]
    call MPI_Allreduce(mine, most, 2, MPI_INTEGER, MPI_MAX, comm, ierr)
    agreed = most(1) == -most(2)
  end function agreed
end module checks

program main
  use checks
  implicit none
  integer :: rank, ranks, ierr, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  if (ranks > 1) then
    call short_blocks()
    call first_blocks()
    call resting()
    call resting_long_names()
    call resting_uneven()
    call several_communicators()
  end if
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)

contains

  !> What all know to be short is decided without asking, whatever else a rank knows.
  subroutine short_blocks()
    integer :: comm
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call even('short', comm, 1, .true., .true.)
    call check(k == 0 .and. own == comm .and. np == ranks .and. me == rank, 'short')
    if (rank == 0) call even('short', comm, 1, .true., .false.)  ! alone: it must not wait
    call check(k == 0, 'short, on one rank')
    call MPI_Comm_free(comm, ierr)
  end subroutine short_blocks

  !> The first exchange on a communicator pays for a duplicate only where it is long.
  subroutine first_blocks()
    integer :: comm, entry
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    do entry = 1, 7
      call even('first', comm, 4, .true., .true.)
      call check(k == 0 .and. own == comm, 'less than 2 MiB so far')
    end do
    call even('first', comm, 4, .true., .true.)
    call check(k == 1 .and. own /= comm, 'the eighth block of 256 KiB')
    call even('other', comm, 2, .true., .true.)
    call check(k == 1 .and. own /= comm, 'a duplicate that is there costs nothing')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call even('first', comm, 16, .true., .true.)
    call check(k == 2 .and. own /= comm, 'a long one is at once')
    call MPI_Comm_free(comm, ierr)
  end subroutine first_blocks

  !> After ranks have not agreed nobody asks for a while, at this site alone.
  subroutine resting()
    integer :: comm, entry
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call even('one', comm, 64, rank /= ranks - 1, .false.)
    call check(k == 0, 'not legal on the last rank')
    call even('two', comm, 64, .true., .false.)
    call check(k == 2 .and. own /= comm, 'another site is tiled')
    do entry = 1, 63
      ! nobody asks: what ranks have differs, and one of them may even come late
      call even('one', comm, 64, mod(entry + rank, 2) == 0, .false.)
      call check(k == 0, 'resting')
    end do
    call even('one', comm, 64, .true., .false.)
    call check(k == 2, 'asked again')
    call even('one', comm, 64, rank > 0, .false.)
    call check(k == 0, 'asked at every entry, once tiled')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    do entry = 1, 3
      call even('few', comm, 16, mod(entry + rank, 2) == 0, .false.)
      call check(k == 0, 'less than 4 MiB are not worth asking')
    end do
    call even('few', comm, 16, .true., .false.)
    call check(k == 2 .and. own /= comm, 'the fourth block of 1 MiB')
    call MPI_Comm_free(comm, ierr)
  end subroutine resting

  !> Names are told apart, and remembered, however long they are.
  subroutine resting_long_names()
    character(80) :: one, two
    integer :: comm, entry
    one = repeat('n', 79)//'1'
    two = repeat('n', 79)//'2'
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call even(one, comm, 64, rank /= ranks - 1, .false.)
    call check(k == 0, 'not legal on the last rank, long name')
    call even(two, comm, 64, .true., .false.)
    call check(k == 2, 'another site with a long name is tiled')
    do entry = 1, 63
      call even(one, comm, 64, .true., .false.)
      call check(k == 0, 'resting, long name')
    end do
    call even(one, comm, 64, .true., .false.)
    call check(k == 2, 'asked again, long name')
    call MPI_Comm_free(comm, ierr)
  end subroutine resting_long_names

  subroutine resting_uneven()
    integer :: comm, entry, p
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    do entry = 1, 47
      call uneven('one', comm, [(16*mod(entry + p, 2), p=0,ranks-1)], .true.)
      call check(k == 0, 'not asked yet')
    end do
    call uneven('one', comm, [(1 + p/2, p=0,ranks-1)], .true.)
    call check(k == 0 .and. own == comm, 'short blocks')
    do entry = 1, 63
      call uneven('one', comm, [(16*mod(entry + p, 2), p=0,ranks-1)], .true.)
      call check(k == 0, 'resting')
    end do
    call uneven('one', comm, [(merge(16, 1, p == 0), p=0,ranks-1)], .true.)
    call check(k == 4 .and. own /= comm, 'pieces are alike: one rank has long blocks')
    do entry = 1, 47
      call uneven('two', comm, [(16*mod(entry + p, 2), p=0,ranks-1)], .true.)
      call check(k == 0, 'another site waits for itself')
    end do
    call uneven('two', comm, [(16, p=0,ranks-1)], .true.)
    call check(k == 4, 'and is tiled')
    call MPI_Comm_free(comm, ierr)
  end subroutine resting_uneven

  !> Half of the ranks, all of them, and each alone, in an order that differs from half to half;
  !> sizes and guards differ between ranks now and then.
  subroutine several_communicators()
    integer :: world, half, turn, odd
    odd = mod(rank, 2)
    call MPI_Comm_dup(MPI_COMM_WORLD, world, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, odd, -rank, half, ierr)
    do turn = 1, 450
      if (mod(turn + odd, 3) == 0) call enter_site(half, 'a', turn, odd)
      call enter_site(world, merge('a', 'b', mod(turn, 2) == 0), turn, 0)
      if (mod(turn + odd, 3) == 1) call enter_site(MPI_COMM_SELF, 'b', turn, rank)
      if (mod(turn, 5) == 2*odd) call enter_site(half, 'c', turn, odd)
    end do
    call MPI_Comm_free(half, ierr)
    call MPI_Comm_free(world, ierr)
  end subroutine several_communicators

  !> `group` is the same on all ranks of `comm`.
  subroutine enter_site(comm, site, turn, group)
    integer, intent(in) :: comm, turn, group
    character(*), intent(in) :: site
    integer, allocatable :: members(:), trips(:)
    logical :: legal
    legal = mod(turn*(rank + 3), 17) > 0
    members = members_of(comm)
    trips = 4 + 12*mod(turn/3 + group, 2) + 0*members
    if (mod(turn, 29) == 0) trips = trips + members
    if (site == 'c') then
      call uneven(site, comm, trips, legal)
    else
      call even(site, comm, 16, legal, .false.)
    end if
    call check(agreed(comm), 'one choice')
  end subroutine enter_site

  !> Which ranks of all those of `comm` are, in its order: no rank waits for another.
  function members_of(comm) result(members)
    integer, intent(in) :: comm
    integer, allocatable :: members(:)
    integer :: count, group, all, p
    call MPI_Comm_size(comm, count, ierr)
    call MPI_Comm_group(comm, group, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierr)
    allocate(members(count))
    call MPI_Group_translate_ranks(group, count, [(p, p=0,count-1)], all, members, ierr)
    call MPI_Group_free(group, ierr)
    call MPI_Group_free(all, ierr)
  end function members_of
end program main
