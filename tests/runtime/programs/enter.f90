! Begins exchanges of equal blocks in every way and prints PASS, or what went wrong.
module checks
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_strided, only: asphalt_strided_t
  implicit none
  integer :: failures = 0
  integer :: own, me, np, k, d, error
  logical :: tiled
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(3a,7i12)', 'FAIL ', what, ': own me np k d error', own, me, np, k, d, error
  end subroutine check

  !> Begins an exchange of blocks of `count` elements, and completes it without any tile.
  subroutine begin(comm, datatype, bytes, count, unit, last, wanted_k, legal, certain, slab, &
                   grain, ready, before, extents, along, strides, alone)
    integer, intent(in) :: comm, datatype, bytes, count, unit, last, wanted_k
    logical, intent(in) :: legal, certain
    logical, intent(in), optional :: slab, alone
    integer, intent(in), optional :: grain, ready, before, extents(:), along, strides(:)
    type(asphalt_exchange_t) :: x
    type(asphalt_strided_t) :: y
    integer :: s(1), r(1)

    if (present(extents)) then
      call y%begin_strided(comm, s, r, count, datatype, bytes=bytes, unit=unit, first=1, &
                           last=last, k=wanted_k, d=2, extents=extents, along=along, &
                           strides=strides, grain=grain, tiled=legal, uniform=certain, &
                           alone=alone)
      call finish(y)
    else
      call x%begin(comm, s, r, count, datatype, bytes=bytes, unit=unit, first=1, &
                   last=last, k=wanted_k, d=2, slab=slab, ready=ready, before=before, &
                   grain=grain, tiled=legal, uniform=certain, alone=alone)
      call finish(x)
    end if
  end subroutine begin

  subroutine finish(x)
    class(asphalt_exchange_t), intent(inout) :: x
    integer :: ierror, s(1), r(1)

    own = x%comm
    me = x%me
    np = x%np
    k = x%k
    d = x%d
    error = x%error
    tiled = x%tiled
    call check(tiled .eqv. k > 0, 'tiled')
    call check(allocated(x%messages%requests) .eqv. tiled, 'requests where it is tiled')
    ierror = -77
    call check(x%finished(s, r, ierror) .eqv. tiled, 'finished')
    call check(ierror == merge(error, -77, tiled), 'the error code of one that is not tiled')
    call check(.not. (x%tiled .or. allocated(x%messages)), 'nothing is left')
  end subroutine finish

  !> `trips` iterations that fill the blocks, `elements` each.
  subroutine enter(comm, elements, trips, wanted_k, legal, certain)
    integer, intent(in) :: comm, elements, trips, wanted_k
    logical, intent(in) :: legal, certain
    call begin(comm, MPI_DOUBLE_PRECISION, 8, elements*trips, elements, trips, wanted_k, legal, &
               certain)
  end subroutine enter

  !> Blocks of `planes` planes, which the iterations fill one after the other.
  subroutine slabs(elements, planes)
    integer, intent(in) :: elements, planes
    integer :: ranks, ierr
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, elements*planes, elements, ranks*planes, &
               0, .true., .true., slab=.true.)
  end subroutine slabs
end module checks

program main
  use checks
  implicit none
  integer :: rank, ranks, ierr, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call equal_and_unequal()
  call loops()
  call chosen()
  call datatypes()
  call communicators()
  call duplicates()
  call wildcards()
  call between_groups()
  call errors()
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)

contains

  subroutine equal_and_unequal()
    logical :: certain
    integer :: turn
    do turn = 1, 2
      certain = turn == 1
      call enter(MPI_COMM_WORLD, 10, 7, 3, .true., certain)
      call check(k == 3 .and. d == 2 .and. error == MPI_SUCCESS, 'wanted k')
      call check(me == rank .and. np == ranks .and. own /= MPI_COMM_WORLD, 'rank and size')
      call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, 70, 10, 7, 3, .true., certain, &
                 alone=.true.)
      call check(k == 3 .and. d == 2 .and. own == MPI_COMM_WORLD, 'alone')
      call enter(MPI_COMM_WORLD, 10, 7, 100, .true., certain)
      call check(k == 7 .and. d == 1, 'k beyond the trip count')
      call enter(MPI_COMM_WORLD, 10, 0, 3, .true., certain)
      call check(k == 0, 'no trips')
      call enter(MPI_COMM_WORLD, 0, 7, 3, .true., certain)
      call check(k == 0, 'no elements')
      call enter(MPI_COMM_WORLD, 10, 7, 3, .false., certain)
      call check(k == 0, 'not legal')
    end do
    if (ranks == 1) return
    call enter(MPI_COMM_WORLD, 10, 7, 3, rank /= ranks - 1, .false.)
    call check(k == 0, 'not legal on the last rank')
    call enter(MPI_COMM_WORLD, 10, 7 + rank, 3, .true., .false.)
    call check(k == 0, 'trips differ')
    call enter(MPI_COMM_WORLD, merge(0, 10, rank == 0), 7, 3, .true., .false.)
    call check(k == 0, 'elements differ')
    call enter(MPI_COMM_WORLD, 10, 7, 3 + rank, .true., .false.)
    call check(k == 0, 'k differs')
    call enter(MPI_COMM_WORLD, 10, 7, 3, .true., .false.)
    call check(k == 3, 'agreed again')
  end subroutine equal_and_unequal

  !> Loops that do not fill the blocks are not tiled, whatever the emitted code says of them.
  subroutine loops()
    call plain(71, 10, 7)
    call check(k == 0, 'blocks that are no whole planes')
    call plain(70, 10, 6)
    call check(k == 0, 'planes that no iteration fills')
    call plain(70, 10, 8)
    call check(k == 0, 'iterations without a plane')
    call plain(0, 10, 0)
    call check(k == 0, 'nothing to send')
    call plain(-70, 10, -7)
    call check(k == 0, 'a negative count')
    call plain(70, 10, -5)
    call check(k == 0, 'bounds the other way round')
    call plain(70, -10, -7)
    call check(k == 0, 'negative planes')
    call plain(70, 10, 5, ready=1)
    call check(k == 3 .and. d == 2, 'with planes that are final before')
    call plain(70, 10, 0, ready=1)
    call check(k == 0, 'all planes final before')
    call plain(70, 10, 7*ranks, slab=.true.)
    call check(k == 3 .and. d == 2, 'slabs')
    call plain(70, 10, 7*ranks - 1, slab=.true.)
    call check(k == 0, 'slabs with a plane that no iteration fills')
    call plain(70, 10, 7*ranks - 1, slab=.true., before=1)
    call check(k == 3, 'which is final before')
    call plain(70, 10, 7*ranks, slab=.true., before=1)
    call check(k == 0, 'an iteration behind the last plane')
    call plain(70, 10, 7*ranks - 1, slab=.true., before=-1)
    call check(k == 0, 'an iteration before the first plane')
    call plain(70, 10, -5, slab=.true., before=1)
    call check(k == 3, 'slabs that are final before')
    call plain(70, 10, -5, slab=.true., before=7*ranks + 1)
    call check(k == 0, 'more planes before than there are')
    call plain(70, 10, 7, extents=[5, 7], along=2)
    call check(k == 0, 'extents of another block')
    if (ranks == 1) return
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, 70, 10, 5, 3, .true., .false., ready=rank)
    call check(k == 0, 'other planes are final before on a rank')
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, 70, 10, 7*ranks - merge(1, 0, rank == 0), &
               3, .true., .false., slab=.true.)
    call check(k == 0, 'slabs with a plane that no iteration fills on one rank')
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, 70, 10, 7*ranks - 1 - rank, 3, .true., &
               .false., slab=.true., before=rank)
    call check(k == 3, 'loops that differ, over the same slabs')
  end subroutine loops

  subroutine plain(count, unit, last, slab, ready, before, extents, along)
    integer, intent(in) :: count, unit, last
    logical, intent(in), optional :: slab
    integer, intent(in), optional :: ready, before, extents(:), along
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, count, unit, last, 3, .true., .true., &
               slab=slab, ready=ready, before=before, extents=extents, along=along)
  end subroutine plain

  subroutine chosen()
    call enter(MPI_COMM_WORLD, 100, 4, 0, .true., .false.)
    call check(k == 0, 'tiny')
    call enter(MPI_COMM_WORLD, 4096, 16, 0, .true., .true.)
    call check(k == merge(0, 2, ranks == 1), '64 KiB messages')
    call enter(MPI_COMM_WORLD, 4096, 64, 0, .true., .true.)
    call check(k == merge(0, 4, ranks == 1), 'longer ones where there are enough of them')
    call enter(MPI_COMM_WORLD, 4096, 7, 0, .true., .true.)
    call check(k == merge(0, 4, ranks == 1), 'the last tile is long enough, too')
    call enter(MPI_COMM_WORLD, 4096, 3, 0, .true., .true.)
    call check(k == 0, 'no two tiles of 64 KiB')
    call enter(MPI_COMM_WORLD, 8191, 2, 0, .true., .true.)
    call check(k == 0, 'blocks of less than 128 KiB')
    call enter(MPI_COMM_WORLD, 8192, 1000, 0, .true., .true.)
    call check(k == merge(0, 16, ranks == 1), 'not more than 64 tiles')
    call enter(MPI_COMM_WORLD, 8192, 1, 0, .true., .true.)
    call check(k == 0, 'one tile hides nothing')
    call slabs(8192, 1)
    call check(k == merge(0, 1, ranks == 1), 'one tile for each rank')
    call check(d == merge(1, min(8, ranks), ranks == 1), 'more of them in flight')
    call slabs(8191, 1)
    call check(k == 0, 'slabs of less than 64 KiB')
    call slabs(8192, 16)
    call check(k == merge(0, 4, ranks == 1), 'long slabs are cut')
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, 100000, 1, 100000, 0, .true., .true., &
               grain=16)
    call check(mod(k, 16) == 0 .and. (k > 0 .eqv. ranks > 1), 'grain')
    call enter(MPI_COMM_WORLD, 1, huge(1), 0, .true., .true.)
    call check(k > 0 .eqv. ranks > 1, 'the largest trip count')
    call enter(MPI_COMM_WORLD, shiftr(huge(1), 1), 2, 0, .true., .true.)
    call check(k == merge(0, 1, ranks == 1), 'the largest message')
  end subroutine chosen

  !> Enters with blocks of double precision of these extents.
  subroutine runs(extents, along, wanted, certain, strides)
    integer, intent(in) :: extents(:), along, wanted
    logical, intent(in) :: certain
    integer, intent(in), optional :: strides(:)
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 8, product(extents), &
               product(extents)/extents(along), extents(along), wanted, .true., certain, &
               extents=extents, along=along, strides=strides)
  end subroutine runs

  subroutine datatypes()
    integer :: pair, padded
    call begin(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, 4, 70, 10, 7, 3, .true., .true.)
    call check(k == 0, 'storage of another size')
    ! a tile of several runs
    call runs([64, 64, 64], 2, 0, .true.)
    call check(k == merge(0, 4, ranks == 1), 'runs of 1 KiB')
    call runs([64, 4096], 1, 0, .true.)
    call check(k == merge(0, 32, ranks == 1), 'longer tiles for runs of 256 bytes')
    call runs([16, 8192], 1, 0, .true.)
    call check(k == 0, 'no tile has long runs')
    call runs([16, 8192], 1, 5, .true.)
    call check(k == 5, 'but one that the header wants')
    call runs([64, 64, 64], 2, 0, .true., [1, 4096, 64, 64**3])
    call check(k == merge(0, 4, ranks == 1), 'runs of 512 bytes in another order')
    call runs([64, 64, 64], 2, 0, .true., [64, 1, 4096, 64**3])
    call check(k == 0, 'elements far apart where they come from')
    if (ranks > 1) then
      call runs([merge(4, 2, rank == 0), 7, merge(2, 4, rank == 0)], 2, 3, .false.)
      call check(k == 0, 'blocks of other extents on a rank')
    end if
    call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, ierr)
    call MPI_Type_commit(pair, ierr)
    call begin(MPI_COMM_WORLD, pair, 16, 70, 10, 7, 3, .true., .true.)
    call check(k == 3, 'a dense derived type')
    call MPI_Type_create_resized(MPI_DOUBLE_PRECISION, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, &
                                 padded, ierr)
    call MPI_Type_commit(padded, ierr)
    call begin(MPI_COMM_WORLD, padded, 8, 70, 10, 7, 3, .true., .true.)
    call check(k == 0, 'a type with holes')
    call MPI_Type_free(pair, ierr)
    call MPI_Type_free(padded, ierr)
  end subroutine datatypes

  ! Ranks use their communicators in different orders; own ones are kept and congruent.
  subroutine communicators()
    integer :: half, order, first, again, relation, world_own
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierr)
    do order = 1, 2
      if (mod(rank + order, 2) == 0) then
        call enter(half, 10, 7, 3, .true., .false.)
        call check(k == 3 .and. np == (ranks + 1 - mod(rank, 2)) / 2, 'half of the ranks')
      else
        call enter(MPI_COMM_SELF, 10, 7, 3, .true., .false.)
        call check(k == 3 .and. np == 1, 'one rank')
      end if
    end do
    call enter(MPI_COMM_WORLD, 10, 7, 3, .true., .false.)
    world_own = own
    call enter(half, 10, 7, 3, .true., .false.)
    first = own
    call check(first /= world_own, 'each has its own')
    call MPI_Comm_compare(half, first, relation, ierr)
    call check(relation == MPI_CONGRUENT, 'congruent')
    call enter(half, 10, 7, 3, .true., .false.)
    again = own
    call check(first == again, 'made once')
    call MPI_Comm_free(half, ierr)
  end subroutine communicators

  ! More cycles than an MPI has communicators, if the private ones were not freed.
  subroutine duplicates()
    integer :: copy, cycle, world_own
    call enter(MPI_COMM_WORLD, 10, 7, 3, .true., .false.)
    world_own = own
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call enter(copy, 10, 7, 3, .true., .false.)
    call check(own /= world_own .and. own /= copy, 'a duplicate has its own')
    call MPI_Comm_free(copy, ierr)
    call enter(MPI_COMM_WORLD, 10, 7, 3, .true., .false.)
    call check(own == world_own .and. k == 3, 'the original keeps its own')
    do cycle = 1, merge(1200, 40, ranks == 1)
      call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
      call enter(copy, 10, 7, 3, .true., .true.)
      call MPI_Comm_free(copy, ierr)
    end do
    call check(ierr == MPI_SUCCESS, 'freed')
  end subroutine duplicates

  ! A pending receive of the program that takes anything must not take ours.
  subroutine wildcards()
    integer :: theirs, ours, requests(2), status(MPI_STATUS_SIZE), next, previous
    call enter(MPI_COMM_WORLD, 10, 7, 3, .true., .false.)
    next = modulo(rank + 1, ranks)
    previous = modulo(rank - 1, ranks)
    theirs = -1
    ours = -1
    call MPI_Irecv(theirs, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                   requests(1), ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Irecv(ours, 1, MPI_INTEGER, previous, 0, own, requests(2), ierr)
    call MPI_Send(1000 + rank, 1, MPI_INTEGER, next, 0, own, ierr)
    call MPI_Wait(requests(2), status, ierr)
    call check(ours == 1000 + previous .and. theirs == -1, 'our message')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, next, 5, MPI_COMM_WORLD, ierr)
    call MPI_Wait(requests(1), status, ierr)
    call check(theirs == previous, 'their message')
  end subroutine wildcards

  subroutine between_groups()
    integer :: half, inter, length
    character(4096) :: version
    call MPI_Get_library_version(version, length, ierr)
    if (ranks == 1 .or. version(:4) == 'SMPI') return  ! SMPI has no intercommunicators
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 9, inter, ierr)
    call enter(inter, 10, 7, 3, .true., .false.)
    call check(k == 0 .and. own == inter .and. error == MPI_SUCCESS, 'intercommunicator')
    call MPI_Comm_free(inter, ierr)
    call MPI_Comm_free(half, ierr)
  end subroutine between_groups

  subroutine errors()
    integer :: copy
    call enter(MPI_COMM_NULL, 10, 7, 3, .true., .false.)
    call check(k == 0 .and. error == MPI_SUCCESS, 'no communicator: left to the original call')
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call enter(copy, 10, 7, 3, .true., .false.)
    call MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN, ierr)
    call enter(copy, 10, 7, 3, .true., .false.)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, own, ierr)
    call check(ierr /= MPI_SUCCESS, 'the error handler follows that of the program')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call begin(MPI_COMM_WORLD, MPI_DATATYPE_NULL, 8, 70, 10, 7, 3, .true., .false.)
    call check(k == 0 .and. error /= MPI_SUCCESS, 'the first error is returned')
  end subroutine errors
end program main
