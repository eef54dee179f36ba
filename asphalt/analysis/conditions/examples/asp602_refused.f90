program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8) :: s(n,nz,4), r(n,nz,4), x(n,nz,4)
  equivalence (s, x)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do z = 1, nz
    s(:,z,:) = z
    x(1,1,1) = 0
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
