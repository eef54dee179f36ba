program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  call fill_and_send(s, r)
  print *, sum(r)
  call MPI_Finalize(ierr)
contains
  subroutine fill_and_send(s, r)
    real(8), intent(inout) :: s(:,:,:), r(:,:,:)
    integer :: z, ierr
    do z = 1, nz
      s(:,z,:) = z
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end subroutine fill_and_send
end program exchange
