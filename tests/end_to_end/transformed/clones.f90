!> The receive buffer is used before the call: pieces land in a clone of it.
module clones
  use mpi
  use showing, only: show, show_integers
  implicit none
  private
  public :: clone_exchanges
contains

  subroutine clone_exchanges(np, me)
    integer, intent(in) :: np, me
    call read_in_the_nest(3, 7, np, me)
    call written_in_the_nest(3, 7, np, me)
    call read_between(2, 6, np, me)
    call packed_from_it(4, 3, 7, np, me)
    call other_shape(4, 6, np, me)
    call slabs_read(3, 5, np, me)
    call slabs_of_another_shape(6, 5, np, me)
    call small_elements(3, 8, np, me)
    call in_place_again(3, 6, np, me)
  end subroutine clone_exchanges

  !> Each step computes from what the step before has received.
  subroutine read_in_the_nest(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, step, ierr
    i = -1
    p = -1
    r = me
    do step = 1, 3
      do z = 1, nz
        do p = 1, np
          do i = 1, n
            s(i,z,p) = 2*r(i,nz+1-z,np+1-p) + i + 10*z + 100*p
          end do
        end do
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
    end do
    call show('read in the nest', r, n*nz*np)
    call show_integers('read in the nest, ends', [i, z, p, ierr], 4)
  end subroutine read_in_the_nest

  !> What is written before the call is overwritten, but for what the call does not write.
  subroutine written_in_the_nest(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np+2)
    integer :: z, p, ierr
    r = -1
    do z = 1, nz
      do p = 1, np
        s(:,z,p) = z + 100*p + 1000*me
        r(:,z,p+1) = r(:,z,p) + z
        r(:,z,np+2) = s(:,z,p)
      end do
    end do
    r(1,1,:) = me
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('written in the nest', r, size(r))
  end subroutine written_in_the_nest

  subroutine read_between(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8), allocatable :: s(:,:,:), r(:,:,:)
    real(8) :: before
    integer :: z, ierr
    allocate(s(n, nz, np), r(n, nz, 0:np-1))
    r = me + 0.25d0
    do z = nz, 1, -1
      s(:,z,:) = sqrt(dble(z + 100*me))
    end do
    before = sum(r)
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('read between', r, size(r))
    call show('read between, before', [before], 1)
  end subroutine read_between

  !> As Fourier transforms do: planes are transformed in place, packed, and come back to where they
  !> were, under another shape.
  subroutine packed_from_it(nx, ny, nz, np, me)
    integer, intent(in) :: nx, ny, nz, np, me
    complex(8) :: x(nx*np, ny, nz), s(nx, ny, nz, np)
    integer :: i, j, z, p, step, ierr
    do z = 1, nz
      do j = 1, ny
        do i = 1, nx*np
          x(i,j,z) = cmplx(i + 10*j + me, z, 8)
        end do
      end do
    end do
    do step = 1, 2
      do z = 1, nz
        do j = 1, ny
          do i = 2, nx*np
            x(i,j,z) = x(i,j,z) + x(i-1,j,z)*(0.5d0, 0.25d0)
          end do
        end do
      end do
      do p = 1, np
        do z = 1, nz
          do j = 1, ny
            do i = 1, nx
              s(i,j,z,p) = x(i+(p-1)*nx,j,z)
            end do
          end do
        end do
      end do
      call MPI_Alltoall(s, nx*ny*nz, MPI_DOUBLE_COMPLEX, x, nx*ny*nz, MPI_DOUBLE_COMPLEX, &
                        MPI_COMM_WORLD, ierr)
    end do
    call show('packed from it', dble(x), size(x))
    call show('packed from it, im', aimag(x), size(x))
  end subroutine packed_from_it

  !> Nothing touches the receive buffer, but its columns are no planes.
  subroutine other_shape(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    integer :: s(n, nz, np), r(nz, n, np)
    integer :: i, z, p, ierr
    r = 0
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i + 10*z + 100*p + 1000*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show_integers('other shape', r, size(r))
  end subroutine other_shape

  subroutine slabs_read(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz*np), r(n, nz*np)
    integer :: i, k, ierr
    r = me + 0.125d0
    do k = 1, nz*np
      do i = 1, n
        s(i,k) = r(i,nz*np+1-k) + k + 1000*me
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('slabs read', r, n*nz*np)
    call show('slabs read, end', dble([k]), 1)
  end subroutine slabs_read

  subroutine slabs_of_another_shape(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz*np), r(4, (n*nz*np+3)/4)
    integer :: k, ierr
    r = 0
    do k = 1, nz*np
      s(:,k) = k + 1000*me
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('slabs, other shape', r, size(r))
  end subroutine slabs_of_another_shape

  !> Elements of two bytes, an odd number of them.
  subroutine small_elements(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    integer(2) :: s(n, nz, np), r(n, nz, np)
    integer :: z, p, ierr
    r = int(me, 2)
    do z = 1, nz
      do p = 1, np
        s(:,z,p) = int(z + 10*p + 100*me, 2) + r(1,z,p)
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER2, r, n*nz, MPI_INTEGER2, MPI_COMM_WORLD, ierr)
    call show_integers('small elements', int(r), size(r))
  end subroutine small_elements

  !> Two exchanges of one procedure, to and fro between the same two arrays.
  subroutine in_place_again(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: a(n, nz, np), b(n, nz, np)
    integer :: z, ierr
    a = me
    b = 2*me
    do z = 1, nz
      b(:,z,:) = 2*a(:,z,:) + z
    end do
    call MPI_Alltoall(b, n*nz, MPI_DOUBLE_PRECISION, a, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    do z = 1, nz
      a(:,z,:) = 3*a(:,z,:) + b(:,z,:)
    end do
    call MPI_Alltoall(a, n*nz, MPI_DOUBLE_PRECISION, b, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('in place again', a, size(a))
    call show('in place again, b', b, size(b))
  end subroutine in_place_again

end module clones
