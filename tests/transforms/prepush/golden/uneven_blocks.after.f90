! Blocks of different lengths, each in a column of its own that may be longer.
subroutine transpose(n, nz, np, me, comm, counts, displs, s, r)
  use mpi_f08
  use asphalt_uneven, only: asphalt_uneven_t
  implicit none
  integer, intent(in) :: n, nz, np, me
  type(MPI_Comm), intent(in) :: comm
  integer, intent(in) :: counts(np,2), displs(np,2)
  real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
  integer :: i, z, p
  type(asphalt_uneven_t) :: asphalt_v
  include 'asphalt_params.inc'

  ! asphalt: MPI_Alltoallv of site 'transpose' prepushed along z
  call asphalt_v%begin_uneven(comm%MPI_VAL, s, counts(:,1), displs(:,1), r, counts(1:np,2), &
      displs(1:np,2), MPI_REAL8%MPI_VAL, storage_size(s)/8, unit=n, last=nz, &
      k=asphalt_k_transpose, d=asphalt_d_transpose, spread=n*nz, site='transpose')
  do while (asphalt_v%next_tile(s))
    do z = asphalt_v%lo, asphalt_v%hi
      call asphalt_v%progress()
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i*z + p*me
        end do
      end do
    end do
  end do
  if (.not. asphalt_v%finished(s, r)) &
    call MPI_Alltoallv(s, counts(:,1), displs(:,1), MPI_REAL8, r, counts(1:np,2), displs(1:np,2), MPI_REAL8, comm)
end subroutine transpose
