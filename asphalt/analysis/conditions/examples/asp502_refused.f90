program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, p, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  integer, allocatable :: counts(:), begins(:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np), counts(np), begins(np))
  counts = n*(nz/2)
  begins = [(n*nz*(p-1), p=1,np)]
  r = 1.5d0
  do z = 1, nz
    s(:,z,:) = z
  end do
  r = 0   ! would overwrite what has arrived
  call MPI_Alltoallv(s, counts, begins, MPI_DOUBLE_PRECISION, &
                     r, counts, begins, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
