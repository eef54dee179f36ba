subroutine transpose(np, comm)
  use mpi_f08
  implicit none
  integer, intent(in) :: np
  type(MPI_Comm), intent(in) :: comm
  integer, parameter :: n = 4, nz = 8
  integer :: s(0:n-1, nz, np), r(0:n-1, nz, np), z
  planes: do z = 0, nz - 1
    s(:,z+1,:) = z
  end do planes
  call MPI_Alltoall(recvbuf=r, sendbuf=s, sendcount=n*nz, sendtype=MPI_INTEGER, &
                    recvcount=n*nz, recvtype=MPI_INTEGER, comm=comm)
  if (sum(r) < 0) error stop
end subroutine transpose
