! Blocks of different lengths, one behind the other: tiles are pieces of an agreed length.
subroutine transpose(nx, ny, nz, np, comm, scounts, sdispls, rcounts, rdispls, s, r, ierr)
  use mpi
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  integer, intent(in) :: scounts(0:np-1), sdispls(0:np-1), rcounts(0:np-1), rdispls(0:np-1)
  real(8), intent(inout) :: s(nx,ny,nz), r(*)
  integer, intent(out) :: ierr
  integer :: i, j, k

  ! one plane after the other
  do k = 1, nz
    do j = 1, ny
      do i = 1, nx
        s(i,j,k) = i + 100*j + 10000*k
      end do
    end do
  end do
  call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine transpose
