program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, window, ierr
  integer(MPI_ADDRESS_KIND) :: bytes
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  real(8) :: last(nz)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  bytes = 8*nz
  call MPI_Win_create(last, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  do z = 1, nz
    last(z) = z
  end do
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call MPI_Win_free(window, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
