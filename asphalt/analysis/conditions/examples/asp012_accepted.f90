program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, me, np, request, ierr
  real(8) :: a(n), b(n)
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 0, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(a, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 0, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)   ! complete in any case
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)   ! this one is transformed
  print *, sum(r), sum(b)
  call MPI_Finalize(ierr)
end program exchange
