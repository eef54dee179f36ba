! Blocks of different lengths, each in a column of its own that may be longer.
subroutine transpose(n, nz, np, me, comm, counts, displs, s, r)
  use mpi_f08
  implicit none
  integer, intent(in) :: n, nz, np, me
  type(MPI_Comm), intent(in) :: comm
  integer, intent(in) :: counts(np,2), displs(np,2)
  real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
  integer :: i, z, p

  do z = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,z,p) = i*z + p*me
      end do
    end do
  end do
  call MPI_Alltoallv(s, counts(:,1), displs(:,1), MPI_REAL8, r, counts(1:np,2), displs(1:np,2), MPI_REAL8, comm)
end subroutine transpose
