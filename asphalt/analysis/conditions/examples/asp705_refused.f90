program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  real(8) :: planes

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  planes = 0
  !$omp parallel do reduction(+:planes)
  do z = 1, nz
    s(:,z,:) = z
    planes = planes + s(1,z,1)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r), planes
  call MPI_Finalize(ierr)
end program exchange
