program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    if (z > 100) stop
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
