!> Packing copies that are left out: the array that they copy from is sent, by derived data types.
module direct
  use showing, only: show, show_integers
  implicit none
contains

  ! the planes in another order than they are computed
  subroutine turned(n, nz, m, np, me)
    use mpi
    integer, intent(in) :: n, nz, m, np, me
    real(8) :: w(n*np, m, nz), s(n, nz, m, np), r(n, nz, m, np)
    integer :: i, j, k, p, ierr
    do k = 1, nz
      do j = 1, m
        do i = 1, n*np
          w(i,j,k) = sqrt(dble(i + 10*j + 100*k + me))
        end do
      end do
    end do
    do p = 1, np
      do j = 1, m
        do k = 1, nz
          do i = 1, n
            s(i,k,j,p) = w(i + (p-1)*n, j, nz + 1 - k)
          end do
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz*m, MPI_DOUBLE_PRECISION, r, n*nz*m, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('direct, turned', r, size(r))
    call show('direct, turned, source', w, size(w))
  end subroutine turned

  ! a transpose: what is far apart comes to lie side by side
  subroutine transposed(n, nz, m, np, me, comm)
    use mpi
    integer, intent(in) :: n, nz, m, np, me, comm
    complex(8), allocatable :: w(:,:,:), s(:,:,:,:), r(:,:,:)
    integer :: i, j, k, p, step, ierr
    allocate(w(0:n-1, m*np, -1:nz-2), s(nz, m, n, 0:np-1), r(nz, m*n, np))
    do step = 1, 2
      do k = nz - 2, -1, -1
        w(:,:,k) = cmplx(k, me + step, 8)
        do j = 1, m*np
          do i = 0, n - 1
            w(i,j,k) = w(i,j,k) + cmplx(j, 10*i, 8)
          end do
        end do
      end do
      do p = 0, np - 1
        do k = -1, nz - 2
          do j = 1, m
            do i = 1, n
              s(k+2,j,i,p) = w(i-1, j + p*m, k)
            end do
          end do
        end do
      end do
      call MPI_Alltoall(s, n*nz*m, MPI_DOUBLE_COMPLEX, r, n*nz*m, MPI_DOUBLE_COMPLEX, comm, ierr)
      call show('direct, transposed', [dble(r), aimag(r)], 2*size(r))
    end do
  end subroutine transposed

  ! all ranks get the same, and the planes are already in their order
  subroutine to_all(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer :: w(nz, n), s(n, nz, np), r(n, nz, np)
    integer :: i, k, p, other, ierr
    do k = 1, nz
      do i = 1, n
        w(k,i) = 1000*me + 10*k + i
      end do
    end do
    do i = n, 1, -1
      do other = 1, nz
        do p = 1, np
          s(i,other,p) = w(other,i)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show_integers('direct, to all', r, size(r))
  end subroutine to_all

  ! computed in two steps, in pencils
  subroutine pencils(n, nz, m, np, me, u)
    use mpi
    integer, intent(in) :: n, nz, m, np, me
    real, intent(inout) :: u(n, m*np, nz)
    real :: v(n, m*np), s(n, nz, m, np), r(n, nz, m, np)
    integer :: i, j, k, p, blk, ierr
    do k = 1, nz
      do j = 1, m*np
        do i = 1, n
          v(i,j) = me + i + 10*j*k
        end do
      end do
      do j = 1, m*np
        do i = 1, n
          u(i,j,k) = 0.5*(v(i,j) + v(n+1-i,j)) + u(i,j,k)
        end do
      end do
    end do
    blk = n*nz*m
    do k = 1, nz
      do p = 1, np
        do j = 1, m
          do i = 1, n
            s(i,k,j,p) = u(i,j+(p-1)*m,k)
          end do
        end do
      end do
    end do
    call MPI_Alltoall(s, blk, MPI_REAL, r, blk, MPI_REAL, MPI_COMM_WORLD, ierr)
    call show('direct, pencils', dble(r), size(r))
  end subroutine pencils

end module direct


subroutine direct_cases(np, me)
  use mpi
  use direct
  implicit none
  integer, intent(in) :: np, me
  real, allocatable :: u(:,:,:)
  integer :: half, half_np, half_me, ierr
  call turned(3, 7, 2, np, me)
  call turned(1, 5, 1, np, me)
  call turned(2, 1, 3, np, me)
  call turned(2, 4, 0, np, me)
  call transposed(2, 8, 3, np, me, MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), 0, half, ierr)
  call MPI_Comm_size(half, half_np, ierr)
  call MPI_Comm_rank(half, half_me, ierr)
  call transposed(3, 5, 1, half_np, half_me, half)
  call to_all(4, 7, np, me)
  allocate(u(3, 2*np, 7), source=1.5)
  call pencils(3, 7, 2, np, me, u)
end subroutine direct_cases
