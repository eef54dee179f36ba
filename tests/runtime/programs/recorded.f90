! Runs the exchanges of a list, and records them: what the iterations are that the runtime hands
! out, which messages it starts and completes, and what came.  See test_recorded_exchanges.py.
!
! With the name of a backend as argument; persistent messages are started a second time, too.
!
! In addition to the lines of recorder.f90:
!   L       the value of lo behind the last tile
!   B       addresses of the arrays that messages leave and reach
!   C       first iteration, last one, and step of a tile
!   F       1 where the exchange was tiled; else the original call would be made
!   D       elements of the receive buffer in the end; in the beginning they are -1.  Element i of
!           the send buffer of rank r, counted from 0, is 1000 r + i
module chosen_backend
  use asphalt_backend_persistent, only: persistent
  implicit none
  private
  public :: chosen, one_place

  character(12) :: chosen

  !> Persistent messages, all of which have one place in the table.
  type, extends(persistent) :: one_place
  contains
    procedure :: open => open_one
  end type one_place

contains

  subroutine open_one(b)
    class(one_place), intent(inout) :: b

    b%site = ''
    call b%persistent%open()
  end subroutine open_one
end module chosen_backend

subroutine chosen_one(offered)
  use asphalt_backend_isend, only: offer_t
  use chosen_backend, only: chosen, one_place
  implicit none
  type(offer_t), intent(inout) :: offered

  if (chosen == 'persistent') allocate(one_place :: offered%backend)
  if (chosen /= 'persistent') allocate(offered%backend)
end subroutine chosen_one

program recorded
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_packed, only: asphalt_packed_t
  use asphalt_strided, only: asphalt_strided_t
  use asphalt_uneven, only: asphalt_uneven_t
  use chosen_backend, only: chosen
  use recorder, only: address, record, recording
  implicit none
  integer, parameter :: equal = 1, uneven = 2
  integer :: me, np, ierr, list, file, kind, number, numbers(100), taken, time
  double precision, allocatable, target :: s(:), r(:)
  character(12) :: name, site
  external :: chosen_one

  call get_command_argument(1, chosen)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  write(name, '(a,i0)') 'list.', me
  open(newunit=list, file=name, status='old')
  write(name, '(a,i0)') 'record.', me
  open(newunit=file, file=name, status='replace')
  number = 0
  do
    read(list, *, iostat=ierr) numbers(1), numbers(2:numbers(1)+1)
    if (ierr /= 0) exit
    number = number + 1
    write(site, '(i0)') number
    do time = 1, merge(2, 1, chosen == 'persistent')
      taken = 1
      write(file, '(a)') 'N'
      kind = next()
      call buffers(next(), next())
      select case (kind)
      case (equal)
        call equal_blocks()
      case (uneven)
        call uneven_blocks()
      case default
        call packed_blocks()
      end select
    end do
  end do
  close(file)
  call MPI_Finalize(ierr)

contains

  integer function next()
    taken = taken + 1
    next = numbers(taken)
  end function next

  !> So many numbers.
  function several(count)
    integer, intent(in) :: count
    integer :: several(count)
    several = numbers(taken+1:taken+count)
    taken = taken + count
  end function several

  !> As many numbers as the next one says; if that is 0, an argument that is absent.
  subroutine maybe(found)
    integer, allocatable, intent(out) :: found(:)
    integer :: count
    count = next()
    if (count > 0) found = several(count)
  end subroutine maybe

  subroutine buffers(sent, received)
    integer, intent(in) :: sent, received
    integer :: i
    if (time == 1) then
      if (allocated(s)) deallocate(s, r)
      allocate(s(sent), r(received))
    end if
    s = [(1000*me + i, i=0,sent-1)]
    r = -1
  end subroutine buffers

  subroutine equal_blocks()
    type(asphalt_exchange_t) :: x
    type(asphalt_strided_t) :: y
    integer :: count, unit, first, last, step, k, d, chances
    integer, allocatable :: backwards(:), ready(:), before(:), extents(:), strides(:), begins(:)
    logical :: slab, uniform, clone, tiled
    logical, allocatable :: against
    integer, allocatable :: early, front, offset
    count = next()
    unit = next()
    first = next()
    last = next()
    step = next()
    k = next()
    d = next()
    slab = next() > 0
    uniform = next() > 0
    clone = next() > 0
    tiled = next() > 0
    chances = next()
    call maybe(backwards)
    if (allocated(backwards)) against = backwards(1) > 0
    call maybe(ready)
    if (allocated(ready)) early = ready(1)
    call maybe(before)
    if (allocated(before)) front = before(1)
    call maybe(begins)
    if (allocated(begins)) offset = begins(1)
    call maybe(extents)
    call maybe(strides)
    recording = file
    if (allocated(extents)) then
      call y%begin_strided(MPI_COMM_WORLD, s, r, count, MPI_DOUBLE_PRECISION, bytes=8, &
                           unit=unit, first=first, last=last, k=k, d=d, extents=extents, &
                           along=2, step=step, backwards=against, strides=strides, &
                           offset=offset, tiled=tiled, uniform=uniform, clone=clone, &
                           site=site, backend=chosen_one, lasting=.true.)
      call execute(y, chances)
      return
    end if
    call x%begin(MPI_COMM_WORLD, s, r, count, MPI_DOUBLE_PRECISION, bytes=8, unit=unit, &
                 first=first, last=last, k=k, d=d, step=step, slab=slab, backwards=against, &
                 ready=early, before=front, tiled=tiled, uniform=uniform, clone=clone, &
                 site=site, backend=chosen_one, lasting=.true.)
    call execute(x, chances)
  end subroutine equal_blocks

  subroutine uneven_blocks()
    type(asphalt_uneven_t) :: x
    integer :: unit, first, last, k, d, spread, chances
    logical :: slab, tiled
    integer, dimension(np) :: counts, displs, arrive, landing
    unit = next()
    first = next()
    last = next()
    k = next()
    d = next()
    slab = next() > 0
    spread = next()
    tiled = next() > 0
    chances = next()
    counts = several(np)
    displs = several(np)
    arrive = several(np)
    landing = several(np)
    recording = file
    call x%begin_uneven(MPI_COMM_WORLD, s, counts, displs, r, arrive, landing, &
                        MPI_DOUBLE_PRECISION, bytes=8, unit=unit, first=first, last=last, &
                        k=k, d=d, slab=slab, spread=spread, tiled=tiled, site=site, &
                        backend=chosen_one, lasting=.true.)
    call execute(x, chances)
  end subroutine uneven_blocks

  subroutine packed_blocks()
    type(asphalt_packed_t) :: x
    integer :: first, last, k, d, chances
    logical :: tiled
    integer, allocatable :: spread(:), apart
    integer, dimension(np) :: units, counts, displs, arrive, landing
    first = next()
    last = next()
    k = next()
    d = next()
    tiled = next() > 0
    chances = next()
    call maybe(spread)
    if (allocated(spread)) apart = spread(1)
    units = several(np)
    counts = several(np)
    displs = several(np)
    arrive = several(np)
    landing = several(np)
    recording = file
    call x%begin_packed(MPI_COMM_WORLD, s, displs, r, arrive, landing, &
                        MPI_DOUBLE_PRECISION, bytes=8, send_counts=counts, units=units, first=first, last=last, &
                        k=k, d=d, spread=apart, tiled=tiled, site=site, &
                        backend=chosen_one, lasting=.true.)
    call execute(x, chances)
  end subroutine packed_blocks

  !> Executes the tiles; `chances`: how often MPI may make progress in one.
  subroutine execute(x, chances)
    class(asphalt_exchange_t), intent(inout) :: x
    integer, intent(in) :: chances
    integer :: lo, hi, chance
    logical :: tiled
    do while (x%next_tile(s))
      lo = x%lo
      hi = x%hi
      call record('C', int([lo, hi, x%step], c_intptr_t))
      do chance = 1, chances
        call x%progress()
      end do
    end do
    lo = x%lo
    call record('L', int([lo], c_intptr_t))
    call record('B', [address(c_loc(s)), merge(address(x%receive), address(c_loc(r)), x%tiled)])
    tiled = x%finished(s, r, ierr)
    if (tiled .and. ierr /= MPI_SUCCESS) error stop 'an error'
    call record('F', int([merge(1, 0, tiled)], c_intptr_t))
    call record('D', int(r, c_intptr_t))
    recording = 0
  end subroutine execute
end program recorded
