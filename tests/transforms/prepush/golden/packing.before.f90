subroutine transpose(n, nz, np, comm, w, u)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real, intent(inout) :: w(n*np, nz), u(n*np, nz)
  real :: s(n, nz, np), r(n, nz, np)
  integer :: i, j, z, p, ierr
  ! compute
  do z = 1, nz
    do j = 1, n*np
      w(j,z) = 0.5*w(j,z) + z
    end do
  end do
  ! pack
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        s(i,z,p) = w(n*(p-1)+i,z)
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_REAL, r, n*nz, MPI_REAL, comm, ierr)
  ! unpack
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        u(n*(p-1)+i,z) = r(i,z,p)
      end do
    end do
  end do
end subroutine transpose
