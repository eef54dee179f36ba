! Loops over the blocks of ranks, from 0, 1 and 2 on: each block once, the own one first where they
! are taken, and last where they are sent.
program turns
  use mpi
  use asphalt_decomposition, only: asphalt_alltoall_blocks, asphalt_blocks, asphalt_finish_blocks, &
                                   asphalt_to_send, asphalt_to_take
  implicit none
  type(asphalt_blocks) :: blocks
  integer :: me, np, error, first, last, turn, wrong
  integer, allocatable :: s(:), r(:), taken(:), sent(:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, np, error)
  allocate (s(np), r(np))
  s = me
  wrong = 0
  call asphalt_alltoall_blocks(s, 1, MPI_INTEGER, r, 1, MPI_INTEGER, MPI_COMM_WORLD, blocks)
  do first = 0, 2
    last = first + np - 1
    taken = [(asphalt_to_take(blocks, turn, first, last, first) - first, turn = first, last)]
    sent = [(asphalt_to_send(blocks, turn, first, last, first) - first, turn = first, last)]
    if (any(taken /= [(modulo(me - turn, np), turn = 0, np - 1)])) wrong = wrong + 1
    if (any(sent /= [(modulo(me + turn, np), turn = 1, np)])) wrong = wrong + 1
  end do
  call asphalt_finish_blocks(blocks, s, r)
  if (any(r /= [(turn, turn = 0, np - 1)])) wrong = wrong + 1
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0) print '(a)', trim(merge('PASS', 'FAIL', wrong == 0))
  call MPI_Finalize(error)
end program turns
