!> Slabs: the last dimension is dealt to the ranks.
module slabs
  use showing, only: show, show_integers
  implicit none
contains

  subroutine slab_planes(n, nb, np, me)
    use mpi
    integer, intent(in) :: n, nb, np, me
    real(8) :: s(n, nb*np), r(n, nb*np)
    integer :: i, k, ierr
    i = -1
    do k = 1, nb*np
      do i = 1, n
        s(i,k) = 1d6*me + 1d3*k + i
      end do
    end do
    call MPI_Alltoall(s, n*nb, MPI_DOUBLE_PRECISION, r, n*nb, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('planes', r, n*nb*np)
    call show_integers('planes, ends', [k], 1)
  end subroutine slab_planes

  subroutine cubes(nx, ny, nz, np, me)
    use mpi
    integer, intent(in) :: nx, ny, nz, np, me
    real(8), allocatable :: s(:,:,:), r(:,:,:)
    real(8) :: x
    integer :: i, j, k, count, ierr
    allocate(s(nx, ny, 0:nz-1), r(nx, ny, 0:nz-1))
    r = 0
    count = nx*ny*(nz/np)
    do k = 0, nz - 1
      do j = 1, ny
        x = 1d5*me + 1d4*j
        do i = 1, nx
          s(i,j,k) = x + 1d2*k + i
        end do
      end do
    end do
    call MPI_Alltoall(s, count, MPI_DOUBLE_PRECISION, r, count, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('cubes', r, nx*ny*nz)
    call show_integers('cubes, ends', [k], 1)
  end subroutine cubes

  subroutine packed_slabs(n, nb, np, me)
    use mpi
    integer, intent(in) :: n, nb, np, me
    real(8) :: w(n, nb*np), s(n, nb*np), r(n, nb*np)
    integer :: i, k, step, ierr
    do step = 1, 2
      do k = 1, nb*np
        do i = 1, n
          w(i,k) = cos(dble(i*k + me + step))
        end do
      end do
      do k = 1, nb*np
        do i = 1, n
          s(i,k) = w(n+1-i,k)
        end do
      end do
      call MPI_Alltoall(s, n*nb, MPI_DOUBLE_PRECISION, r, n*nb, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
      call show('packed slabs', r, n*nb*np)
    end do
  end subroutine packed_slabs

end module slabs
