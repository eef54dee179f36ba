subroutine transpose(n, nz, np, comm, w, u)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real, intent(inout) :: w(n*np, nz), u(n*np, nz)
  real :: s(n, nz, np), r(n, nz, np)
  integer :: i, j, z, p, ierr
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'
  ! compute
  ! asphalt: MPI_Alltoall of site 'transpose' prepushed along z
  call asphalt_x%begin(comm, s, r, n*nz, MPI_REAL, storage_size(s)/8, unit=n, last=nz, &
                       k=asphalt_k_transpose, d=asphalt_d_transpose, site='transpose')
  do while (asphalt_x%next_tile(s))
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do j = 1, n*np
        w(j,z) = 0.5*w(j,z) + z
      end do
    end do
    ! pack
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do p = 1, np
        do i = 1, n
          s(i,z,p) = w(n*(p-1)+i,z)
        end do
      end do
    end do
  end do
  if (.not. asphalt_x%finished(s, r, ierr)) &
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
