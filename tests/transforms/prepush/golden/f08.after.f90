subroutine transpose(np, comm)
  use mpi_f08
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: np
  type(MPI_Comm), intent(in) :: comm
  integer, parameter :: n = 4, nz = 8
  integer :: s(0:n-1, nz, np), r(0:n-1, nz, np), z
  type(asphalt_exchange_t) :: asphalt_x
  include 'asphalt_params.inc'
  ! asphalt: MPI_Alltoall of site 'transpose' prepushed along z
  call asphalt_x%begin(comm%MPI_VAL, s, r, n*nz, MPI_INTEGER%MPI_VAL, storage_size(s)/8, unit=n, &
                       first=0, last=nz - 1, k=asphalt_k_transpose, d=asphalt_d_transpose, &
                       grain=16, uniform=.true.)
  do while (asphalt_x%next_tile(s))
    planes: do z = asphalt_x%lo, asphalt_x%hi
      s(:,z+1,:) = z
    end do planes
  end do
  if (.not. asphalt_x%finished(s, r)) &
    call MPI_Alltoall(recvbuf=r, sendbuf=s, sendcount=n*nz, sendtype=MPI_INTEGER, &
                      recvcount=n*nz, recvtype=MPI_INTEGER, comm=comm)
  if (sum(r) < 0) error stop
end subroutine transpose
