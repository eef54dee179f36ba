! Blocks of MPI_ALLTOALLW: which planes they touch, with types that have gaps, go backwards or begin
! in front of their address, and empty ones.  Whoever sends waits for the other one to be asked for
! what is to come: what is not waited for is not there.
program blocks_of_types
  use mpi
  use asphalt_decomposition, only: asphalt_alltoallw_blocks, asphalt_await_block, asphalt_blocks, &
                                   asphalt_finish_blocks, asphalt_send_block, asphalt_send_blocks, &
                                   asphalt_to_send, asphalt_to_take
  implicit none
  integer, parameter :: n = 6, planes = 8, kinds = 6, bytes = 8
  type(asphalt_blocks) :: blocks
  integer :: me, np, half, error, wrong, kind, plane, token, i, here
  integer :: types(kinds), status(MPI_STATUS_SIZE)
  integer, allocatable :: none(:), counts(:), places(:), handles(:)
  logical :: touched(n,planes,kinds), taken(planes)
  real(8) :: s(n,planes), r(n,planes)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  call make_types
  wrong = 0
  half = np/2
  allocate (none(0:np-1), counts(0:np-1), places(0:np-1), handles(0:np-1))
  none = 0
  places = 0
  handles = MPI_DATATYPE_NULL
  s = 1 + me

  ! each rank of the lower half sends one block to one of the upper half, which asks for its planes
  ! one by one, and lets a block come only after it has asked in vain for all those that it does
  ! not touch
  do kind = 1, kinds
    do plane = 1, planes
      if (np < 2) exit
      if (.not. any(touched(:,plane,kind))) cycle
      counts = 0
      r = 0
      here = 0
      if (me >= 2*half) then
        call asphalt_alltoallw_blocks(s, none, places, handles, r, none, places, handles, &
                                      MPI_COMM_WORLD, [n], storage_size(s), [n], storage_size(r), &
                                      blocks)
      else if (me < half) then
        call ask(me + half)
        call asphalt_alltoallw_blocks(s(1,here), counts, places, handles, r, none, places, &
                                      handles, MPI_COMM_WORLD, [n], storage_size(s), [n], &
                                      storage_size(r), blocks, later=.true.)
        ! the last plane that it touches is filled last, and then it goes
        s = -1
        do i = 1, planes
          s(:,i) = 1 + me
          if (.not. any(touched(:,i:,kind))) s(:,i) = -2
          call asphalt_send_block(blocks, i - here, s)
        end do
        call MPI_Recv(token, 1, MPI_INTEGER, me + half, kind, MPI_COMM_WORLD, status, error)
        s = -3
        call asphalt_send_blocks(blocks, s, r)
      else
        call ask(me - half)
        call asphalt_alltoallw_blocks(s, none, places, handles, r(1,here), counts, places, &
                                      handles, MPI_COMM_WORLD, [n], storage_size(s), [n], &
                                      storage_size(r), blocks)
        do i = 1, planes
          if (.not. any(touched(:,i,kind))) call asphalt_await_block(blocks, i - here, r)
        end do
        call asphalt_await_block(blocks, plane - here, r)
        if (any(touched(:,:,kind) .neqv. r == 1 + me - half)) wrong = wrong + 1
        call MPI_Send(token, 1, MPI_INTEGER, me - half, kind, MPI_COMM_WORLD, error)
      end if
      call asphalt_finish_blocks(blocks, s, r)
      handles = MPI_DATATYPE_NULL
      places = 0
    end do
  end do

  ! all of them to oneself
  do kind = 1, kinds
    counts = 0
    r = 0
    call ask(me)
    s = 7
    call asphalt_alltoallw_blocks(s(1,here), counts, places, handles, r(1,here), counts, places, &
                                  handles, MPI_COMM_WORLD, [n], storage_size(s), [n], &
                                  storage_size(r), blocks)
    ! every plane once, beginning with the own block
    taken = .false.
    do i = 1, planes
      plane = asphalt_to_take(blocks, i, 1, planes, here)
      if (i == 1 .and. .not. any(touched(:,plane,kind))) wrong = wrong + 1
      if (i == 1 .and. any(touched(:,plane+1:,kind))) wrong = wrong + 1
      taken(plane) = .true.
      call asphalt_await_block(blocks, plane - here, r)
    end do
    if (.not. all(taken)) wrong = wrong + 1
    plane = asphalt_to_send(blocks, planes, 1, planes, here)
    if (any(touched(:,plane+1:,kind)) .or. .not. any(touched(:,plane,kind))) wrong = wrong + 1
    if (any(touched(:,:,kind) .neqv. r == 7)) wrong = wrong + 1
    call asphalt_finish_blocks(blocks, s, r)
    handles = MPI_DATATYPE_NULL
    places = 0
  end do

  do kind = 1, kinds
    call MPI_Type_free(types(kind), error)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', wrong == 0))
  call MPI_Finalize(error)

contains

  !> The types, and the elements of an array that a block touches.
  subroutine make_types
    integer(MPI_ADDRESS_KIND), parameter :: row = n*bytes
    integer :: base

    touched = .false.
    ! planes 3 and 4, two elements
    call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, types(1), error)
    touched(:,3:4,1) = .true.
    ! from within one plane into another one
    call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, types(2), error)
    touched(4:,2,2) = .true.
    touched(:3,3,2) = .true.
    ! rows 2 and 3 of planes 2 to 6
    call MPI_Type_create_subarray(2, [n, planes], [2, 5], [1, 1], MPI_ORDER_FORTRAN, &
                                  MPI_DOUBLE_PRECISION, types(3), error)
    touched(2:3,2:6,3) = .true.
    ! three elements, each a plane in front of the one before
    call MPI_Type_create_resized(MPI_DOUBLE_PRECISION, 0_MPI_ADDRESS_KIND, -row, types(4), error)
    touched(1,3:5,4) = .true.
    ! one element two planes in front of where it begins
    call MPI_Type_create_hindexed(1, [1], [-2*row], MPI_DOUBLE_PRECISION, base, error)
    call MPI_Type_create_resized(base, 0_MPI_ADDRESS_KIND, row, types(5), error)
    call MPI_Type_free(base, error)
    touched(1,2,5) = .true.
    ! two elements as far from each other as they would be without a gap, but with one
    call MPI_Type_vector(2, 1, 2*n, MPI_DOUBLE_PRECISION, base, error)
    call MPI_Type_create_resized(base, 0_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND*bytes, types(6), &
                                 error)
    call MPI_Type_free(base, error)
    touched(1,[5, 7],6) = .true.
    do base = 1, kinds
      call MPI_Type_commit(types(base), error)
    end do
  end subroutine make_types

  !> The block of a rank, from plane `here` on.
  subroutine ask(rank)
    integer, intent(in) :: rank
    integer, parameter :: begins(kinds) = [1, 2, 1, 4, 4, 5], many(kinds) = [2, 1, 1, 3, 1, 1]
    integer, parameter :: offsets(kinds) = [2*n, 3, 0, n, 0, 0]

    here = begins(kind)
    counts(rank) = many(kind)
    handles(rank) = types(kind)
    places(rank) = offsets(kind)*bytes
  end subroutine ask
end program blocks_of_types
