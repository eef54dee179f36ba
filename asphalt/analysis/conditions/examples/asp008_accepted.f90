module transposing
  use mpi
  implicit none
contains
  subroutine transpose_planes(s, r, count, comm)
    real(8), intent(in) :: s(*)
    real(8), intent(inout) :: r(*)
    integer, intent(in) :: count, comm
    integer :: ierr
    call MPI_Alltoall(s, count, MPI_DOUBLE_PRECISION, r, count, MPI_DOUBLE_PRECISION, comm, ierr)
    if (ierr /= MPI_SUCCESS) print *, 'the exchange failed'
  end subroutine transpose_planes
end module transposing

program exchange
  use mpi
  use transposing, only: transpose_planes
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    s(:,z,:) = z
  end do
  call transpose_planes(s, r, n*nz, MPI_COMM_WORLD)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
