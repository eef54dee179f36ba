! Blocks with data types that differ at both ends, blocks of no rank, and an intercommunicator, where
! the operation stays one.
program blocks
  use mpi
  use asphalt_decomposition, only: asphalt_allgather_blocks, asphalt_alltoall_blocks, &
                                   asphalt_await_block, asphalt_blocks, asphalt_finish_blocks, &
                                   asphalt_send_block, asphalt_send_blocks
  implicit none
  integer, parameter :: n = 70000
  type(asphalt_blocks) :: first, second
  integer :: me, np, rank, pair, single, half, other, color, error, wrong
  real(8), allocatable :: s(:), r(:,:), t(:,:), u(:,:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  call MPI_Type_vector(1, 1, 1, MPI_DOUBLE_PRECISION, single, error)
  call MPI_Type_create_resized(single, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, pair, error)
  call MPI_Type_commit(pair, error)
  allocate (s(2*n), r(n,0:np-1), t(n,0:np-1), u(n,0:np-1))
  s = -1
  s(1::2) = me
  r = -1
  t = me
  u = -1
  wrong = 0

  ! two operations at once, of which the second one sends block by block, one of them beforehand
  call asphalt_allgather_blocks(s, n, pair, r, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, first)
  call asphalt_alltoall_blocks(t, n, MPI_DOUBLE_PRECISION, u, n, MPI_DOUBLE_PRECISION, &
                               MPI_COMM_WORLD, second, later=.true.)
  t(:,np-1) = 100 + me
  call asphalt_send_block(second, np - 1, t)
  call asphalt_send_block(second, np, t)
  call asphalt_send_blocks(second, t, u)
  do rank = np, -1, -1
    call asphalt_await_block(first, rank, r)
    if (rank < 0 .or. rank >= np) cycle
    if (any(r(:,rank) /= rank)) wrong = wrong + 1
  end do
  call asphalt_finish_blocks(second, t, u)
  call asphalt_finish_blocks(first, s, r)
  do rank = 0, np - 1
    if (any(u(:,rank) /= merge(100, 0, me == np - 1) + rank)) wrong = wrong + 1
  end do

  if (np > 1) then
    color = mod(me, 2)
    call MPI_Comm_split(MPI_COMM_WORLD, color, me, half, error)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 1, other, error)
    call MPI_Comm_remote_size(other, np, error)
    r = -1
    t = me
    call asphalt_alltoall_blocks(t, n, MPI_DOUBLE_PRECISION, r, n, MPI_DOUBLE_PRECISION, other, &
                                 first, later=.true.)
    call asphalt_send_block(first, 0, t)
    call asphalt_send_blocks(first, t, r)
    call asphalt_await_block(first, 0, r)
    if (any(r(:,0) /= 1 - color)) wrong = wrong + 1
    call asphalt_finish_blocks(first, t, r)
    do rank = 0, np - 1
      if (any(r(:,rank) /= 1 - color + 2*rank)) wrong = wrong + 1
    end do
  end if

  call MPI_Type_free(pair, error)
  call MPI_Type_free(single, error)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', wrong == 0))
  call MPI_Finalize(error)
end program blocks
