! Exchanges of one tile that is handed out at the beginning, with nothing but stores behind that: a
! compiler that does not know that the buffer is sent may remove them.
module straight_lines
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
contains

  !> The object goes at the end.
  logical function own_object()
    integer :: s(4), r(4)
    logical :: more
    type(asphalt_exchange_t) :: x
    call x%begin(MPI_COMM_SELF, s, r, 4, MPI_INTEGER, bytes=4, unit=4, last=1, k=1, d=2, &
                 uniform=.true., entered=.true.)
    s = [43, 44, 45, 46]
    more = x%next_tile(s)
    own_object = x%finished(s, r)
    own_object = own_object .and. .not. more .and. all(r == [43, 44, 45, 46])
  end function own_object

  !> The object stays.
  logical function other_object(x)
    type(asphalt_exchange_t), intent(inout) :: x
    integer :: s(1), r(1)
    logical :: more
    call x%begin(MPI_COMM_SELF, s, r, 1, MPI_INTEGER, bytes=4, unit=1, last=1, k=1, d=2, &
                 uniform=.true., entered=.true.)
    s(1) = 47
    more = x%next_tile(s)
    other_object = x%finished(s, r)
    other_object = other_object .and. .not. more .and. r(1) == 47
  end function other_object
end module straight_lines

program straight
  use straight_lines
  implicit none
  type(asphalt_exchange_t) :: x
  integer :: ierr, me
  logical :: right(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  right = [own_object(), other_object(x)]
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', all(right)))
  call MPI_Finalize(ierr)
end program straight
