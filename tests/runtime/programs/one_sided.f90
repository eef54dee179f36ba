! A backend that the runtime does not have, of another kind: pieces are put into the receive buffer
! through a window (MPI-4.0 chapter 12).  What calls it is not changed: it only says what happens at
! the four points.
module one_sided
  use, intrinsic :: iso_c_binding, only: c_loc
  use mpi
  use asphalt_backend_isend, only: backend_t
  use asphalt_core, only: asphalt_byte, asphalt_irecv, asphalt_isend
  implicit none
  private
  public :: puts, window, put

  !> The tags of messages that say where a destination is, and that a source has been put there.
  integer, parameter :: place_tag = 11, there_tag = 12
  integer :: window, put = 0

  type, extends(backend_t) :: puts
    !> Where destinations are, each as long as its message may be on its way.
    integer(MPI_ADDRESS_KIND) :: places(1000) = 0
    integer :: told(1000) = MPI_REQUEST_NULL
  contains
    procedure :: open => set_number
    procedure :: destination_ready => tell_place
    procedure :: source_ready => put_there
    procedure :: leave => complete_places
  end type puts

contains

  subroutine set_number(b)
    class(puts), intent(inout) :: b

    b%number = 77
  end subroutine set_number

  !> Tells the source where the destination is, which may be written now.
  subroutine tell_place(b, buf, count, datatype, source, slot)
    class(puts), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, source, slot
    integer, save :: nothing
    integer :: free

    free = findloc(b%told, MPI_REQUEST_NULL, 1)
    if (count < 0 .or. datatype == MPI_DATATYPE_NULL) error stop 'no piece'
    b%places(free) = transfer(c_loc(buf), b%places(free))
    call asphalt_isend(b%places(free), 1, MPI_AINT, source, place_tag, b%comm, b%told(free), &
                       b%error)
    call asphalt_irecv(nothing, 0, MPI_INTEGER, source, there_tag, b%comm, b%requests(slot), &
                       b%error)
  end subroutine tell_place

  !> Puts the source where its destination is, and tells that it is there.
  subroutine put_there(b, buf, count, datatype, dest, slot)
    class(puts), intent(inout) :: b
    integer(asphalt_byte), pointer, intent(in) :: buf
    integer, intent(in) :: count, datatype, dest, slot
    integer(MPI_ADDRESS_KIND) :: place
    integer :: error
    integer, save :: nothing

    call MPI_Recv(place, 1, MPI_AINT, dest, place_tag, b%comm, MPI_STATUS_IGNORE, error)
    call MPI_Put(buf, count, datatype, dest, place, count, datatype, window, error)
    call MPI_Win_flush(dest, window, error)
    put = put + 1
    call asphalt_isend(nothing, 0, MPI_INTEGER, dest, there_tag, b%comm, b%requests(slot), &
                       b%error)
  end subroutine put_there

  subroutine complete_places(b)
    class(puts), intent(inout) :: b
    integer :: error

    call MPI_Waitall(size(b%told), b%told, MPI_STATUSES_IGNORE, error)
    call MPI_Win_sync(window, error)
    call b%backend_t%leave()
  end subroutine complete_places
end module one_sided

subroutine by_puts(offered)
  use asphalt_backend_isend, only: offer_t
  use one_sided, only: puts
  implicit none
  type(offer_t), intent(inout) :: offered

  allocate(puts :: offered%backend)
end subroutine by_puts

program main
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  use asphalt_strided, only: asphalt_strided_t
  use one_sided, only: put, window
  implicit none
  integer, parameter :: n = 3, planes = 5, most_ranks = 4
  integer :: s(n, planes, most_ranks), r(n, planes, most_ranks)
  integer(MPI_ADDRESS_KIND) :: bytes
  integer :: me, np, ierr, k, d, wrong = 0, total
  external :: by_puts
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  bytes = 4*size(r)
  call MPI_Win_attach(window, r, bytes, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Win_lock_all(0, window, ierr)
  do k = 1, 3
    do d = 1, 3
      call blocks(.false.)
      call blocks(.true.)
      call strided()
    end do
  end do
  if (put == 0) wrong = wrong + 1
  call MPI_Win_unlock_all(window, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Win_detach(window, r, ierr)
  call MPI_Win_free(window, ierr)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a)', merge('PASS', 'FAIL', total == 0)
  call MPI_Finalize(ierr)

contains

  pure integer function value(from, to, z)
    integer, intent(in) :: from, to, z
    value = 1000*from + 100*to + 10*z + k + d
  end function value

  subroutine blocks(slab)
    logical, intent(in) :: slab
    type(asphalt_exchange_t) :: x
    integer :: z, p
    r = -1
    call x%begin(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, unit=n, first=1, &
                 last=merge(np, 1, slab)*planes, k=k, d=d, slab=slab, backend=by_puts)
    do while (x%next_tile(s))
      do z = x%lo, x%hi
        call x%progress()
        if (slab) s(:,mod(z-1,planes)+1,(z-1)/planes+1) = value(me, (z-1)/planes, mod(z-1,planes)+1)
        if (.not. slab) s(:,z,:) = spread([(value(me, p, z), p=0,most_ranks-1)], 1, n)
      end do
    end do
    if (.not. x%finished(s, r)) wrong = wrong + 1
    call check()
  end subroutine blocks

  !> The loop is over the dimension that is the first in memory.
  subroutine strided()
    type(asphalt_strided_t) :: x
    integer :: i, z, p
    r = -1
    call x%begin_strided(MPI_COMM_WORLD, s, r, n*planes, MPI_INTEGER, bytes=4, &
                         unit=planes, first=1, last=n, k=k, d=d, extents=[n, planes], &
                         along=1, backend=by_puts)
    do while (x%next_tile(s))
      do i = x%lo, x%hi
        do z = 1, planes
          s(i,z,:) = [(value(me, p, z), p=0,most_ranks-1)]
        end do
      end do
    end do
    if (.not. x%finished(s, r)) wrong = wrong + 1
    call check()
  end subroutine strided

  subroutine check()
    integer :: z, p
    do p = 1, np
      do z = 1, planes
        if (any(r(:,z,p) /= value(p - 1, me, z))) wrong = wrong + 1
      end do
    end do
  end subroutine check
end program main
