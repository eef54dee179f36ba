program main
  use mpi
  use transposes
  implicit none
  integer, parameter :: n = 1000, nz = 40
  double precision, allocatable :: s(:,:,:), r(:,:,:)
  double precision :: checked, whole
  integer :: me, ranks, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate (s(n, nz, ranks), r(n, nz, ranks))
  call transpose(n, nz, ranks, me, MPI_COMM_WORLD, s, r)
  checked = sum(r*me)
  call MPI_Reduce(checked, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a, es24.16)', 'checksum: ', whole
  call MPI_Finalize(ierr)
end program main
