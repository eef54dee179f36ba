program exchange
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 4, nz = 8
  integer :: z, me, np, ierr
  real(8) :: a(n)
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  call MPI_Bcast(a, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)   ! this one is transformed
  print *, sum(r), sum(a)
  call MPI_Finalize(ierr)
end program exchange
