!> The module mpi_f08: typed handles, optional error codes, keyword arguments.
module modern
  use showing, only: show
  implicit none
  integer, parameter :: n = 3, nz = 8
  private
  public :: modern_exchanges
contains

  subroutine modern_exchanges(np, me)
    use mpi_f08, only: MPI_COMM_WORLD
    integer, intent(in) :: np, me
    call no_error_code(np, me, MPI_COMM_WORLD)
    call keywords(np, me)
    call cloned(np, me)
    call counts_by_keyword(np, me, MPI_COMM_WORLD)
    call inside_of_blocks(np, me)
    call without_a_copy(np, me)
  end subroutine modern_exchanges

  subroutine no_error_code(np, me, comm)
    use mpi_f08
    integer, intent(in) :: np, me
    type(MPI_Comm), intent(in) :: comm
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i + 10*z + 100*p + 1000*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm)
    call show('no error code', r, n*nz*np)
  end subroutine no_error_code

  subroutine keywords(np, me)
    use mpi_f08, only: MPI_Alltoall, MPI_COMM_WORLD, MPI_DOUBLE_PRECISION
    integer, intent(in) :: np, me
    real(8), allocatable :: s(:,:), r(:,:)
    integer :: k, error
    allocate(s(n, nz*np), r(n, nz*np))
    do k = 1, nz*np
      s(:,k) = k + 1000*me
    end do
    call MPI_Alltoall(recvbuf=r, recvcount=n*nz, recvtype=MPI_DOUBLE_PRECISION, sendbuf=s, &
                      sendcount=n*nz, sendtype=MPI_DOUBLE_PRECISION, comm=MPI_COMM_WORLD, &
                      ierror=error)
    call show('keywords', r, n*nz*np)
    call show('keywords, error', [dble(error), dble(k)], 2)
  end subroutine keywords

  subroutine cloned(np, me)
    use mpi_f08
    integer, intent(in) :: np, me
    complex(4) :: s(n, nz, np), r(n, nz, np)
    integer :: z
    r = cmplx(me, 1)
    do z = 1, nz
      s(:,z,:) = r(:,nz+1-z,:)*z
    end do
    r(1,:,:) = 0
    call MPI_Alltoall(s, n*nz, MPI_COMPLEX, r, n*nz, MPI_COMPLEX, MPI_COMM_WORLD)
    call show('cloned, f08', [dble(r), dble(aimag(r))], 2*size(r))
  end subroutine cloned

  !> Rank p gets p + 1 planes; on every rank they are differently large.
  subroutine counts_by_keyword(np, me, comm)
    use mpi_f08, only: MPI_Alltoallv, MPI_Comm, MPI_DOUBLE_PRECISION
    integer, intent(in) :: np, me
    type(MPI_Comm), intent(in) :: comm
    real(8), allocatable :: s(:,:), r(:,:,:)
    integer, allocatable :: of(:,:)
    integer :: k, p
    allocate(s(n + me, np*(np+1)/2), r(n + np - 1, me + 1, np), of(np, 4))
    of(:,1) = [(p*(n + me), p=1,np)]
    of(:,2) = [(p*(p - 1)/2*(n + me), p=1,np)]
    of(:,3) = [((me + 1)*(n + p), p=0,np-1)]
    of(:,4) = [((me + 1)*(n + np - 1)*p, p=0,np-1)]
    r = 0
    do k = 1, np*(np+1)/2
      s(:,k) = k + 1000*me
    end do
    call MPI_Alltoallv(s, of(:,1), of(:,2), MPI_DOUBLE_PRECISION, recvtype=MPI_DOUBLE_PRECISION, &
                       comm=comm, rdispls=of(:,4), recvcounts=of(:,3), recvbuf=r)
    call show('counts by keyword', r, size(r))
  end subroutine counts_by_keyword

  subroutine inside_of_blocks(np, me)
    use mpi_f08
    integer, intent(in) :: np, me
    integer, parameter :: m = 2
    real(8) :: s(nz, n, m*np), r(nz, n*m, np)
    integer :: i, j, k
    do k = 1, nz
      do j = 1, m*np
        do i = 1, n
          s(k,i,j) = k + 10*i + 100*j + 1000*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz*m, MPI_DOUBLE_PRECISION, r, n*nz*m, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD)
    call show('inside of blocks', r, n*nz*m*np)
  end subroutine inside_of_blocks

  subroutine without_a_copy(np, me)
    use mpi_f08
    integer, intent(in) :: np, me
    complex(4) :: w(n*np, nz), s(nz, n, np), r(nz, n, np)
    integer :: i, k, p
    do k = 1, nz
      do i = 1, n*np
        w(i,k) = cmplx(i + 100*k, me)
      end do
    end do
    do p = 1, np
      do i = 1, n
        do k = 1, nz
          s(k,i,p) = w(n*p+1-i,k)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_COMPLEX, r, n*nz, MPI_COMPLEX, MPI_COMM_WORLD)
    call show('without a copy', [dble(real(r)), dble(aimag(r))], 2*n*nz*np)
  end subroutine without_a_copy

end module modern
