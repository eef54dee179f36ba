! Operations in messages beside loops that fill and use their blocks.
program blocks_traced
  use mpi
  use asphalt_decomposition
  implicit none
  integer, parameter :: n = 4096  ! of a block; enough for a message of its own
  integer, parameter :: many = 524288  ! enough for messages of the first operation
  type(asphalt_blocks) :: first, all, late, collected, dealt
  integer :: me, np, error, turn, p
  real(8), allocatable :: s(:,:), r(:,:), long(:,:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  allocate (s(n,np), r(n,np), source=0d0)
  allocate (long(many,np), source=0d0)
  call begin('first')
  call asphalt_bcast_blocks(long, many*np, MPI_REAL8, 0, MPI_COMM_WORLD, [many], first)
  call asphalt_finish_blocks(first, long)

  call begin('all')
  call asphalt_alltoall_blocks(s, n, MPI_REAL8, r, n, MPI_REAL8, MPI_COMM_WORLD, all, later=.true.)
  do turn = 1, np
    p = asphalt_to_send(all, turn, 1, np, 1)
    print '(a, 2i8)', 'fill', me, p - 1
    call asphalt_send_block(all, p - 1, s)
  end do
  call asphalt_send_blocks(all, s, r)
  do turn = 1, np
    p = asphalt_to_take(all, turn, 1, np, 1)
    call asphalt_await_block(all, p - 1, r)
    print '(a, 2i8)', 'use', me, p - 1
  end do
  call asphalt_finish_blocks(all, s, r)

  call begin('late')
  call asphalt_alltoall_blocks(s, n, MPI_REAL8, r, n, MPI_REAL8, MPI_COMM_WORLD, late, &
                               later=.true., receives_later=.true.)
  do p = 1, np
    print '(a, 2i8)', 'fill', me, p - 1
    call asphalt_send_block(late, p - 1, s)
  end do
  call asphalt_send_blocks(late, s, r)
  call asphalt_finish_blocks(late, s, r)

  call begin('gather')
  call asphalt_gather_blocks(s, n, MPI_REAL8, r, n, MPI_REAL8, 1, MPI_COMM_WORLD, collected)
  do p = 1, np
    call asphalt_await_block(collected, p - 1, r)
    print '(a, 2i8)', 'use', me, p - 1
  end do
  call asphalt_finish_blocks(collected, s, r)

  call begin('scatter')
  call asphalt_scatter_blocks(s, n, MPI_REAL8, r, n, MPI_REAL8, 1, MPI_COMM_WORLD, dealt, &
                              later=.true.)
  do p = 1, np
    print '(a, 2i8)', 'fill', me, p - 1
    call asphalt_send_block(dealt, p - 1, s)
  end do
  call asphalt_send_blocks(dealt, s, r)
  call asphalt_finish_blocks(dealt, s, r)

  call broadcast('line', n)
  call broadcast('tree', n/8)
  call begin('')
  call MPI_Finalize(error)
contains
  subroutine begin(name)
    character(*), intent(in) :: name

    call MPI_Barrier(MPI_COMM_WORLD, error)
    print '(a, i8, 1x, a)', 'next', me, name
  end subroutine begin

  subroutine broadcast(name, plane)
    character(*), intent(in) :: name
    integer, intent(in) :: plane
    type(asphalt_blocks) :: spread

    call begin(name)
    call asphalt_bcast_blocks(r, plane*np, MPI_REAL8, 1, MPI_COMM_WORLD, [plane], spread, &
                              later=.true.)
    do p = 1, np
      print '(a, 2i8)', 'fill', me, p - 1
      call asphalt_send_block(spread, p - 1, r)
    end do
    call asphalt_send_blocks(spread, r)
    do p = 1, np
      call asphalt_await_block(spread, p - 1, r)
    end do
    call asphalt_finish_blocks(spread, r)
  end subroutine broadcast
end program blocks_traced
