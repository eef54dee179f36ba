! A rank may be in one of the two calls while another is in the other: no caller is given.
subroutine forward(n, nz, np, comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(out) :: s(n,nz,np), r(n,nz,np)
  integer :: z, ierr
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine forward

subroutine backward(n, nz, np, comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(out) :: s(n,nz,np), r(n,nz,np)
  integer :: z, ierr
  do z = 1, nz
    s(:,z,:) = nz - z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine backward
