program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  integer :: request

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Ialltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                     MPI_COMM_WORLD, request, ierr)   ! not one blocking call
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
