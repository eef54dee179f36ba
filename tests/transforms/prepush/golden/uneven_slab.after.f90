! Blocks of different lengths, one behind the other: tiles are pieces of an agreed length.
subroutine transpose(nx, ny, nz, np, comm, scounts, sdispls, rcounts, rdispls, s, r, ierr)
  use mpi
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  integer, intent(in) :: scounts(0:np-1), sdispls(0:np-1), rcounts(0:np-1), rdispls(0:np-1)
  real(8), intent(inout) :: s(nx,ny,nz), r(*)
  integer, intent(out) :: ierr
  integer :: i, j, k
  type(asphalt_uneven_t) :: asphalt_v
  include 'asphalt_params.inc'

  ! one plane after the other
  ! asphalt: MPI_Alltoallv of site 'transpose' prepushed along k
  call asphalt_v%begin_uneven(comm, s, scounts, sdispls, r, rcounts, rdispls, &
      MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=nx*ny, last=nz, k=asphalt_k_transpose, &
      d=asphalt_d_transpose, slab=.true., site='transpose')
  do while (asphalt_v%next_tile(s))
    do k = asphalt_v%lo, asphalt_v%hi
      call asphalt_v%progress()
      do j = 1, ny
        do i = 1, nx
          s(i,j,k) = i + 100*j + 10000*k
        end do
      end do
    end do
  end do
  if (.not. asphalt_v%finished(s, r, ierr)) &
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine transpose
