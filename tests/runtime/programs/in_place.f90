!> What is sent in place is what stood there, however long it is: no part of it is sent from memory
!! that is free again when the operation has started.
program in_place
  use mpi
  use asphalt_collectives, only: asphalt_iallreduce, asphalt_ialltoall, asphalt_in_place, &
                                 asphalt_iscan
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, parameter :: n = 20000  ! longer than what an MPI sends at once
  integer :: me, ranks, ierr, request, p
  real(8) :: s(n), noise(n)
  real(8), allocatable :: blocks(:,:)
  logical :: right, all_right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(blocks(n,ranks))

  s = me + 1
  call asphalt_iallreduce(asphalt_in_place, s, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, &
                          request)
  call work
  call asphalt_wait(request, s)
  right = all(s == ranks)

  s = me + 1
  call asphalt_iscan(asphalt_in_place, s, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request)
  call work
  call asphalt_wait(request, s)
  right = right .and. all(s == (me + 1)*(me + 2)/2)

  do p = 1, ranks
    blocks(:,p) = 100*me + p
  end do
  call asphalt_ialltoall(asphalt_in_place, 0, MPI_DOUBLE_PRECISION, blocks, n, &
                         MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, request)
  call work
  call asphalt_wait(request, blocks)
  do p = 1, ranks
    right = right .and. all(blocks(:,p) == 100*(p - 1) + me + 1)
  end do

  call MPI_Reduce(right, all_right, 1, MPI_LOGICAL, MPI_LAND, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a)', merge('PASS', 'FAIL', all_right)
  call MPI_Finalize(ierr)

contains

  !> Other memory is asked for, and filled.
  subroutine work
    real(8), allocatable :: other(:)
    integer :: turn

    do turn = 1, 4
      allocate(other(n), source=-1d0*turn)
      noise = other
      deallocate(other)
    end do
  end subroutine work

end program in_place
