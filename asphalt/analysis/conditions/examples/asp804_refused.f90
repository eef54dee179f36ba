program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8) :: s(4,6,4), r(6,4,4)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do z = 1, 6
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, 24, MPI_DOUBLE_PRECISION, r, 24, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
