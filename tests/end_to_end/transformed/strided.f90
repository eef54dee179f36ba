!> A tile is a set of strided runs of each rank's block: sent and received by derived data types.
module strided
  use showing, only: show, show_integers
  implicit none
contains

  subroutine fastest(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(nz, n, np), r(nz, n, np)
    integer :: i, z, p, ierr
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(z,i,p) = 1d6*me + 1d4*p + 1d2*z + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('strided, fastest', r, n*nz*np)
    call show_integers('strided, fastest, ends', [z, ierr], 2)
  end subroutine fastest

  subroutine middle(n, nz, m, np, me, comm)
    use mpi
    integer, intent(in) :: n, nz, m, np, me, comm
    complex(8) :: s(0:n-1, nz, -1:m-2, 0:np-1), r(n, 0:nz-1, m, np)
    integer :: i, j, z, p, ierr
    do z = nz, 1, -1
      do p = 0, np - 1
        do j = -1, m - 2
          do i = 0, n - 1
            s(i,z,j,p) = cmplx(me + 10*p, 100*z + 10*j + i, 8)
          end do
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz*m, MPI_DOUBLE_COMPLEX, r, n*nz*m, MPI_DOUBLE_COMPLEX, comm, ierr)
    call show('strided, middle', [dble(r), aimag(r)], 2*size(r))
    call show_integers('strided, middle, ends', [z, ierr], 2)
  end subroutine middle

  subroutine dealt(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer :: s(nz, n*np), r(nz*n*np), step
    integer :: k, z, ierr
    do step = 1, 2
      do z = 1, nz
        do k = 1, n*np
          s(z,k) = 1000*me + 100*k + z*step
        end do
      end do
      call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call show_integers('strided, dealt', r, n*nz*np)
    end do
  end subroutine dealt

  subroutine single(n, nz, m, np, me)
    use mpi
    integer, intent(in) :: n, nz, m, np, me
    real, allocatable :: s(:,:,:,:,:), r(:,:,:)
    real :: x
    integer :: z, p, ierr
    allocate(s(2,nz,n,m,np), r(2*nz,n*m,np))
    x = 0
    do p = 1, np
      do z = 1, nz
        s(:,z,:,:,p) = me + z + 0.5*p
        s(2,z,1,m,p) = sqrt(real(z))
      end do
    end do
    call MPI_Alltoall(s, 2*nz*n*m, MPI_REAL, r, 2*nz*n*m, MPI_REAL, MPI_COMM_WORLD, ierr)
    call show('strided, single', dble(r), size(r))
  end subroutine single

end module strided


subroutine strided_cases(np, me)
  use mpi
  use strided
  implicit none
  integer, intent(in) :: np, me
  integer :: half, half_np, half_me, ierr
  call fastest(3, 7, np, me)
  call fastest(1, 5, np, me)
  call fastest(4, 1, np, me)
  call fastest(0, 4, np, me)
  call middle(2, 5, 3, np, me, MPI_COMM_WORLD)
  call middle(1, 5, 1, np, me, MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), 0, half, ierr)
  call MPI_Comm_size(half, half_np, ierr)
  call MPI_Comm_rank(half, half_me, ierr)
  call middle(3, 9, 2, half_np, half_me, half)
  call dealt(2, 8, np, me)
  call single(3, 7, 2, np, me)
end subroutine strided_cases
