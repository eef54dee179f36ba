subroutine exchange(n, nz, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz
  real(8), intent(inout), contiguous :: s(:,:,:), r(:,:,:)
  integer :: z, ierr
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
end subroutine exchange
