program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, p, turn, me, np, other, pending, ierr
  integer, allocatable :: requests(:)
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,0:np-1), r(n,nz,0:np-1), requests(2*np))
  r = 0
  do z = 1, nz
    s(:,z,:) = z + me
  end do
  pending = 0
  do turn = 1, np - 1
    p = modulo(me - turn, np)
    pending = pending + 1
    call MPI_Irecv(r(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                   requests(pending), ierr)
  end do
  do turn = 1, np - 1
    p = modulo(me + turn, np)
    pending = pending + 1
    call MPI_Isend(s(1,1,p), n*nz, MPI_DOUBLE_PRECISION, p, 5, MPI_COMM_WORLD, &
                   requests(pending), ierr)
  end do
  call MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
