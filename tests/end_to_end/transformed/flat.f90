!> One subscript runs through the elements, the planes and the ranks of a send buffer.
module flat
  use showing, only: show, show_integers
  use mpi
  implicit none
contains

  subroutine flat_planes(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n*nz*np), r(n*nz*np)
    integer :: i, k, p, ierr
    do k = 1, nz
      do p = 0, np - 1
        do i = 1, n
          s(n*nz*p + n*(k - 1) + i) = 1d6*me + 1d4*p + 1d2*k + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, planes', r, n*nz*np)
    call show_integers('flat, planes, ends', [k, ierr], 2)
  end subroutine flat_planes

  subroutine flat_columns(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(2, 0:n*nz*np - 1), r(2, n, nz, np)
    integer :: i, k, p, first, ierr
    do k = nz - 1, 0, -1
      do p = np - 1, 0, -1
        first = n*(k + nz*p)
        do i = n - 1, 0, -1
          s(1,first + i) = 1d6*me + 1d4*p + 1d2*k + i
          s(2,first + n - 1 - i) = me + 1d-3*k*p
        end do
      end do
    end do
    call MPI_Alltoall(s, 2*n*nz, MPI_DOUBLE_PRECISION, r, 2*n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, columns', r, 2*n*nz*np)
    call show_integers('flat, columns, ends', [k, p, ierr], 3)
  end subroutine flat_columns

  subroutine flat_rows(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n*nz*np), r(n*nz*np)
    integer :: k, first, last, ierr
    do k = 1, nz*np
      first = n*(k - 1) + 1
      last = n*k
      s(first:last) = 1d4*me + k
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, rows', r, n*nz*np)
    call show_integers('flat, rows, ends', [k, ierr], 2)
  end subroutine flat_rows

  subroutine flat_inner(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    integer :: s(n*nz*np), r(n*nz*np)
    integer :: i, k, p, ierr
    do k = 1, nz
      do p = 1, np
        do i = 1, n
          s(k + nz*(i - 1 + n*(p - 1))) = 100000*me + 10000*p + 100*k + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show_integers('flat, inner', r, n*nz*np)
  end subroutine flat_inner

  subroutine flat_positions(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n*nz*np), r(n*nz*np)
    integer :: i, k, p, at, ierr
    do k = 1, nz
      do p = 0, np - 1
        at = n*(k - 1) + n*nz*p
        do i = 1, n
          at = at + 1
          s(at) = 1d6*me + 1d4*p + 1d2*k + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, positions', r, n*nz*np)
    call show_integers('flat, positions, ends', [k, at, ierr], 3)
  end subroutine flat_positions

  subroutine flat_position(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n*nz*np), r(n*nz*np), work(n, np, nz)
    integer :: i, k, p, at, ierr
    do k = 1, nz
      do p = 1, np
        do i = 1, n
          work(i,p,k) = 1d6*me + 1d4*p + 1d2*k + i
        end do
      end do
    end do
    at = 0
    do p = 1, np
      do k = 1, nz
        do i = 1, n
          at = at + 1
          s(at) = work(i,p,k)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, position', r, n*nz*np)
  end subroutine flat_position

  subroutine flat_position_of_ranks(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n*nz*np), r(n*nz*np), work(n, np, nz)
    integer :: i, k, p, at, ierr
    do k = 1, nz
      do p = 1, np
        do i = 1, n
          work(i,p,k) = 1d6*me + 1d4*p + 1d2*k + i
        end do
      end do
    end do
    do p = 1, np
      at = (p - 1)*n*nz + 1
      do k = 1, nz
        do i = 1, n
          s(at) = work(i,p,k)
          at = at + 1
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('flat, position of ranks', r, n*nz*np)
  end subroutine flat_position_of_ranks
end module flat
