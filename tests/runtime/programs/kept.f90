! Exchanges between local arrays without TARGET, in procedures in which the compiler sees all that
! the program itself does with them: what is stored in front of `next_tile` is sent, and what is
! loaded behind `finished` is what came.  For trip counts of 0 and of max(0, ...),
! and for more tiles in flight than there are.  Arrays that are not contiguous are exchanged, too,
! but not in tiles, and nobody keeps the address of a temporary copy.  The same for messages between
! two ranks in segments.
module exchanges
  use, intrinsic :: iso_c_binding, only: c_associated
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_packed, only: asphalt_packed_t
  use asphalt_segments, only: asphalt_await_segment, asphalt_await_segments, &
                              asphalt_begin_segments, asphalt_finish_segments, &
                              asphalt_next_segment, asphalt_receive_segments, &
                              asphalt_segments_t, asphalt_send_segment, asphalt_send_segments
  use asphalt_strided, only: asphalt_strided_t
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer, parameter :: n = 3, most_ranks = 4, planes = 5
  integer :: me, np, ierr, wrong = 0
contains

  !> What rank `from` has in element `i` of plane `z` for rank `to`.
  pure integer function value(from, to, z, i)
    integer, intent(in) :: from, to, z, i
    value = 1000*from + 100*to + 10*z + i
  end function value

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a)', 'FAIL ', what
  end subroutine expect

  !> Automatic arrays.
  subroutine blocks(nz, k, d)
    integer, intent(in) :: nz, k, d
    integer :: s(n, max(0, nz), np), r(n, max(0, nz), np)
    integer :: i, z, p
    type(asphalt_exchange_t) :: x
    r = -1
    call x%begin(MPI_COMM_WORLD, s, r, n*max(0, nz), MPI_INTEGER, bytes=4, unit=n, &
                 first=1, last=max(0, nz), k=k, d=d)
    call expect(x%tiled .eqv. nz > 0, 'blocks are tiled')
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        call x%progress()
        do p = 1, np
          do i = 1, n
            s(i,z,p) = value(me, p - 1, z, i)
          end do
        end do
      end do
    end do
    if (.not. x%finished(s, r, ierr)) &
      call MPI_Alltoall(s, n*max(0, nz), MPI_INTEGER, r, n*max(0, nz), MPI_INTEGER, &
                        MPI_COMM_WORLD, ierr)
    do p = 1, np
      do z = 1, nz
        do i = 1, n
          call expect(r(i,z,p) == value(p - 1, me, z, i), 'blocks')
        end do
      end do
    end do
  end subroutine blocks

  !> Arrays of which the compiler knows the size, and bounds that it knows.
  subroutine constant_blocks(backwards)
    logical, intent(in) :: backwards
    integer :: s(n, planes, most_ranks), r(n, planes, most_ranks), z, p
    type(asphalt_exchange_t) :: x
    s = -2
    r = -1
    if (backwards) then
      call x%begin(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, unit=n, &
                   first=planes, last=1, step=-1, k=2, d=1)
      do while (x%next_tile(s))
        do z = x%lo, x%hi, -1
          s(:,z,:) = spread([(value(me, p, z, 0), p=0,most_ranks-1)], 1, n)
        end do
      end do
    else
      call x%begin(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, unit=n, &
                   first=1, last=planes, k=1, d=9)
      do while (x%next_tile(s))
        do z = x%lo, x%hi
          s(:,z,:) = spread([(value(me, p, z, 0), p=0,most_ranks-1)], 1, n)
        end do
      end do
    end if
    call expect(x%finished(s, r), 'constant blocks are tiled')
    call expect(all(r(:,:,np+1:) == -1), 'what nobody sends')
    do p = 1, np
      do z = 1, planes
        call expect(all(r(:,z,p) == value(p - 1, me, z, 0)), 'constant blocks')
      end do
    end do
  end subroutine constant_blocks

  !> What a compiler would rather have in a register.
  subroutine one_element()
    integer :: s(1), r(1), z
    type(asphalt_exchange_t) :: x
    if (np > 1) return
    r = -1
    call x%begin(MPI_COMM_WORLD, s, r, 1, MPI_INTEGER, bytes=4, unit=1, first=1, last=1, &
                 k=1, d=1, uniform=.true.)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        s(1) = 42
      end do
    end do
    call expect(x%finished(s, r), 'one element is tiled')
    call expect(r(1) == 42, 'one element')
  end subroutine one_element

  subroutine slabs(nz, k, d)
    integer, intent(in) :: nz, k, d
    integer :: s(n, nz*np), r(n, nz*np), i, z
    type(asphalt_exchange_t) :: x
    r = -1
    call x%begin(MPI_COMM_WORLD, s, r, n*nz, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=nz*np, k=k, d=d, slab=.true.)
    call expect(x%tiled .eqv. nz > 0, 'slabs are tiled')
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        s(:,z) = [(value(me, 0, z, i), i=1,n)]
      end do
    end do
    if (.not. x%finished(s, r, ierr)) &
      call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    do z = 1, nz*np
      do i = 1, n
        call expect(r(i,z) == value((z - 1)/nz, 0, mod(z - 1, nz) + 1 + me*nz, i), 'slabs')
      end do
    end do
  end subroutine slabs

  !> Planes across the blocks; what is sent is what another array is packed from, or the buffer.
  subroutine strided(k, d, from_another)
    integer, intent(in) :: k, d
    logical, intent(in) :: from_another
    integer :: s(planes, n, np), a(0:n, np, planes), r(planes, n, np), i, z, p
    type(asphalt_strided_t) :: x
    r = -1
    if (from_another) then
      call x%begin_strided(MPI_COMM_WORLD, a, r, n*planes, MPI_INTEGER, bytes=4, unit=n, &
                           first=1, last=planes, k=k, d=d, extents=[planes, n], along=1, &
                           strides=[(n + 1)*np, 1, n + 1], offset=1, entered=.true.)
    else
      call x%begin_strided(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, unit=n, &
                           first=1, last=planes, k=k, d=d, extents=[planes, n], along=1, &
                           entered=.true.)
    end if
    do
      do z = x%lo, x%hi
        do p = 1, np
          do i = 1, n
            if (from_another) a(i,p,z) = value(me, p - 1, z, i)
            if (.not. from_another) s(z,i,p) = value(me, p - 1, z, i)
          end do
        end do
      end do
      if (from_another) then
        if (.not. x%next_tile(a)) exit
      else
        if (.not. x%next_tile(s)) exit
      end if
    end do
    if (from_another) call expect(x%finished(a, r), 'strided tiles of another array')
    if (.not. from_another) call expect(x%finished(s, r), 'strided tiles')
    do p = 1, np
      do z = 1, planes
        do i = 1, n
          call expect(r(z,i,p) == value(p - 1, me, z, i), 'strided')
        end do
      end do
    end do
  end subroutine strided

  !> Around the ring: what is filled tile by tile, or at once, is used tile by tile, or at once.
  subroutine segments(k, d, filled, used)
    integer, intent(in) :: k, d
    logical, intent(in) :: filled, used
    integer :: s(n, 0:planes-1), r(n, 0:planes-1), total, z, left, right
    type(asphalt_segments_t) :: x
    left = modulo(me - 1, np)
    right = modulo(me + 1, np)
    s = -3
    r = -1
    call asphalt_begin_segments(x, first=2, last=planes+1, work=1.0, k=k, d=d)
    call asphalt_receive_segments(x, r, n, MPI_INTEGER, left, 4, MPI_COMM_WORLD)
    if (filled) then
      do while (asphalt_next_segment(x))
        do z = x%lo, x%hi
          s(:,z-2) = value(me, right, z, 0)
        end do
        call asphalt_send_segment(x, s, n, MPI_INTEGER, right, 4, MPI_COMM_WORLD)
      end do
    else
      do z = 2, planes + 1
        s(:,z-2) = value(me, right, z, 0)
      end do
      call asphalt_send_segments(x, s, n, MPI_INTEGER, right, 4, MPI_COMM_WORLD, synchronous=.true.)
    end if
    total = 0
    if (used) then
      do while (asphalt_next_segment(x))
        call asphalt_await_segment(x, r)
        do z = x%lo, x%hi
          if (all(r(:,z-2) == value(left, me, z, 0))) total = total + 1
        end do
      end do
    else
      call asphalt_await_segments(x, r)
      do z = 2, planes + 1
        if (all(r(:,z-2) == value(left, me, z, 0))) total = total + 1
      end do
    end if
    call expect(total == planes, 'segments')
    call asphalt_finish_segments(x, s)
    s = -4
  end subroutine segments

  !> Nothing is sent where there are no iterations.
  subroutine no_segments()
    integer :: s(1), r(1)
    type(asphalt_segments_t) :: x
    s = 7
    r = -1
    call asphalt_begin_segments(x, first=1, last=0, work=1.0, k=0, d=1)
    call asphalt_receive_segments(x, r, 1, MPI_INTEGER, me, 5, MPI_COMM_WORLD)
    call asphalt_send_segments(x, s, 1, MPI_INTEGER, me, 5, MPI_COMM_WORLD)
    call expect(.not. asphalt_next_segment(x), 'no segments')
    call asphalt_await_segments(x, r)
    call asphalt_finish_segments(x, s)
    call expect(r(1) == -1, 'nothing is received')
  end subroutine no_segments

  !> What is received replaces what is read until then.
  subroutine in_place(k, d)
    integer, intent(in) :: k, d
    integer :: s(n, planes, np), a(n, planes, np), i, z, p
    type(asphalt_exchange_t) :: x
    a = reshape([(((value(me, p, z, i), i=1,n), z=1,planes), p=0,np-1)], shape(a))
    call x%begin(MPI_COMM_WORLD, s, a, n*planes, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=planes, k=k, d=d, clone=.true.)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        s(:,z,:) = -a(:,z,:)
      end do
    end do
    call expect(all(a == reshape([(((value(me, p, z, i), i=1,n), z=1,planes), p=0,np-1)], &
                                 shape(a))), 'in place: read until the end')
    call expect(x%finished(s, a), 'in place is tiled')
    do p = 1, np
      do z = 1, planes
        do i = 1, n
          call expect(a(i,z,p) == -value(p - 1, me, z, i), 'in place')
        end do
      end do
    end do
  end subroutine in_place

  !> Rank r has r+1 planes for each other one.
  subroutine uneven(k, d)
    integer, intent(in) :: k, d
    integer :: s(n, 10, np), r(n*(np*(np + 1))/2), i, z, p
    integer, dimension(np) :: counts, displs, arrive, landing
    type(asphalt_uneven_t) :: x
    counts = n*(me + 1)
    displs = [(10*n*(p - 1), p=1,np)]
    arrive = [(n*p, p=1,np)]
    landing = [(n*(p*(p - 1))/2, p=1,np)]
    r = -1
    call x%begin_uneven(MPI_COMM_WORLD, s, counts, displs, r, arrive, landing, &
                        MPI_INTEGER, bytes=4, unit=n, first=1, last=me + 1, k=k, d=d, &
                        spread=10*n)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        call x%progress()
        do p = 1, np
          s(:,z,p) = [(value(me, p - 1, z, i), i=1,n)]
        end do
      end do
    end do
    call expect(x%finished(s, r), 'uneven blocks are tiled')
    do p = 1, np
      do z = 1, p
        do i = 1, n
          call expect(r(landing(p)+n*(z-1)+i) == value(p - 1, me, z, i), 'uneven')
        end do
      end do
    end do
  end subroutine uneven

  !> An iteration adds i elements to the block for rank i-1.
  subroutine packed(k, d)
    integer, intent(in) :: k, d
    integer :: s(planes*(np*(np + 1))/2), r(planes*(me + 1)*np), i, z, p
    integer, dimension(np) :: units, counts, displs, arrive, landing
    type(asphalt_packed_t) :: x
    character(1) :: site
    units = [(p, p=1,np)]
    counts = planes*units
    displs = [(planes*(p*(p - 1))/2, p=1,np)]
    arrive = planes*(me + 1)
    landing = [(planes*(me + 1)*(p - 1), p=1,np)]
    r = -1
    write(site, '(i0)') k
    call x%begin_packed(MPI_COMM_WORLD, s, displs, r, arrive, landing, MPI_INTEGER, bytes=4, &
                        units=units, first=1, last=planes, k=k, d=d, &
                        site=site)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        do p = 1, np
          do i = 1, p
            s(displs(p)+p*(z-1)+i) = value(me, p - 1, z, i)
          end do
        end do
      end do
    end do
    call expect(x%finished(s, r), 'packed blocks are tiled')
    do p = 1, np
      do z = 1, planes
        do i = 1, me + 1
          call expect(r(landing(p)+(me+1)*(z-1)+i) == value(p - 1, me, z, i), 'packed')
        end do
      end do
    end do
  end subroutine packed

  !> Arguments that may be parts of arrays.
  subroutine parts(s, r, contiguous)
    integer, intent(inout) :: s(:,:,:), r(:,:,:)
    logical, intent(in) :: contiguous
    integer :: i, z, p
    logical :: tiled
    type(asphalt_exchange_t) :: x
    r = -1
    call x%begin(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=planes, k=2, d=2, tiled=is_contiguous(s) .and. is_contiguous(r))
    call expect(x%tiled .eqv. contiguous, 'parts are not tiled')
    call expect(c_associated(x%send) .eqv. contiguous, 'no address of a copy that is sent')
    call expect(c_associated(x%receive) .eqv. contiguous, 'no address of a copy that is received')
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        do p = 1, np
          do i = 1, n
            s(i,z,p) = value(me, p - 1, z, i)
          end do
        end do
      end do
      call expect(c_associated(x%send) .eqv. contiguous, 'nor later')
    end do
    tiled = x%finished(s, r, ierr)
    if (.not. tiled) &
      call MPI_Alltoall(s, n*planes, MPI_INTEGER, r, n*planes, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    do p = 1, np
      do z = 1, planes
        do i = 1, n
          call expect(r(i,z,p) == value(p - 1, me, z, i), 'parts')
        end do
      end do
    end do
  end subroutine parts
end module exchanges

program kept
  use exchanges
  implicit none
  integer, parameter :: tiles(3) = [1, 2, 7], depths(3) = [1, 2, 50]
  integer :: a(2*n, planes, most_ranks), b(n, planes, most_ranks)
  integer :: c(n, planes, most_ranks), nz, k, d, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do k = 1, size(tiles)
    do d = 1, size(depths)
      do nz = -2, planes
        call blocks(nz, tiles(k), depths(d))
        if (nz >= 0) call slabs(nz, tiles(k), depths(d))
      end do
      call strided(tiles(k), depths(d), .false.)
      call strided(tiles(k), depths(d), .true.)
      call in_place(tiles(k), depths(d))
      call segments(tiles(k), depths(d), .true., k > 1)
      call segments(tiles(k), depths(d), .false., k <= 1)
      call uneven(tiles(k), depths(d))
      call packed(tiles(k), depths(d))
    end do
  end do
  call constant_blocks(.false.)
  call constant_blocks(.true.)
  call one_element()
  call no_segments()
  a = -5
  call parts(a(::2,:,:np), b(:,:,:np), .false.)
  call expect(all(a(2::2,:,:) == -5), 'what lies between parts that are sent')
  call parts(b(:,:,:np), a(2::2,:,:np), .false.)
  call parts(b(:,:,:np), a(:n,:,:np), .false.)
  call parts(b(:,:,:np), c(:,:,:np), .true.)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)
end program kept
