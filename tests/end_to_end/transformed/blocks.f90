!> Every block: each iteration adds a plane to the block of every rank.
module blocks
  use showing, only: show, show_integers
  implicit none
  integer :: columns, planes
  real(8), allocatable :: sent(:,:,:), received(:,:,:)
contains

  pure real(8) function element(i, z, p, me)
    integer, intent(in) :: i, z, p, me
    element = 1d6*me + 1d4*p + 1d2*z + i
  end function element

  subroutine plane(x, n, z, me)
    integer, intent(in) :: n, z, me
    real(8), intent(out) :: x(n)
    integer :: i
    do i = 1, n
      x(i) = sqrt(dble(i + 7*z + 1000*me))
    end do
  end subroutine plane

  subroutine dummies(name, n, nz, np, me, comm, s, r)
    use mpi
    character(*), intent(in) :: name
    integer, intent(in) :: n, nz, np, me, comm
    real(8), intent(inout) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    i = -1
    p = -1
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = element(i, z, p, me)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
    call show(name, r, n*nz*np)
    call show_integers(name//', ends', [i, z, p, ierr], 4)
  end subroutine dummies

  subroutine automatic(n, nz, np, me)
    use mpi, only: MPI_COMM_WORLD, MPI_REAL
    integer, intent(in) :: n, nz, np, me
    real :: s(n, nz, np), r(n*nz, np)
    integer :: z, ierr
    do z = 1, nz
      s(:,z,:) = real(me*nz + z)
      s(1,z,1) = 0.5
    end do
    call MPI_Alltoall(s, n*nz, MPI_REAL, r, n*nz, MPI_REAL, MPI_COMM_WORLD, ierr)
    call show('automatic', dble(r), size(r))
  end subroutine automatic

  subroutine time_steps(np, me)
    use mpi
    integer, intent(in) :: np, me
    integer, parameter :: n = 4, nz = 7, steps = 3
    complex(8), allocatable :: s(:,:,:), r(:,:,:)
    real(8) :: total(nz)
    integer :: step, i, z, p, ierr
    allocate(s(n, nz, np), r(n, nz, np))
    r = 0
    total = 0
    do step = 1, steps
      do z = 1, nz
        do p = 1, np
          do i = 1, n
            s(i,z,p) = cmplx(element(i, z, p, me), step, 8)
          end do
        end do
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_COMPLEX, r, n*nz, MPI_DOUBLE_COMPLEX, &
                        MPI_COMM_WORLD, ierr)
      ! unpack
      do p = 1, np
        do z = 1, nz
          total(z) = total(z) + p*sum(dble(r(:,z,p))) + sum(aimag(r(:,z,p)))
        end do
      end do
    end do
    call show('time steps', total, nz)
    deallocate(s, r)
  end subroutine time_steps

  subroutine module_buffers(np, me)
    use mpi
    integer, intent(in) :: np, me
    integer :: i, z, p, ierr
    do z = 1, planes
      do p = 1, np
        do i = 1, columns
          sent(i,z,p) = element(i, z, p, me)
        end do
      end do
    end do
    call MPI_Alltoall(sent, columns*planes, MPI_DOUBLE_PRECISION, &
                      received, columns*planes, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('module buffers', received, columns*planes*np)
  end subroutine module_buffers

  subroutine lower_bounds(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(0:n-1, -2:nz-3, 0:np-1), r(-1:n-2, 5:nz+4, 2:np+1)
    integer :: i, z, p, ierr
    do z = -2, nz - 3
      do p = 0, np - 1
        do i = 0, n - 1
          s(i,z,p) = element(i, z, p, me)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('lower bounds', r, n*nz*np)
  end subroutine lower_bounds

  subroutine backwards(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np), x
    integer :: i, z, p, ierr
    x = 0
    do z = nz, 1, -1
      x = x + z
      do p = 1, np
        do i = 1, n
          s(i,z,p) = element(i, z, p, me) + x
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('backwards', r, n*nz*np)
    call show('backwards, ends', [dble(z), x], 2)
  end subroutine backwards

  subroutine shifted(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n*nz*np)
    integer :: i, z, p, ierr
    do z = 0, nz - 1
      do p = 1, np
        do i = 1, n
          s(i,z+1,p) = element(i, z, p, me)
        end do
      end do
    end do
    call MPI_Alltoall(s(1,1,1), n*nz, MPI_DOUBLE_PRECISION, r(1), n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('shifted', r, n*nz*np)
  end subroutine shifted

  subroutine packed(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: w(n*np, nz), s(n, nz, np), r(n, nz, np), u(n*np, nz)
    integer :: i, j, z, p, ierr
    do z = 1, nz
      do j = 1, n*np
        w(j,z) = sin(dble(j + z*me))
      end do
    end do
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = w(n*(p-1)+i,z)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          u(n*(p-1)+i,z) = r(i,z,p)
        end do
      end do
    end do
    call show('packed', u, n*nz*np)
  end subroutine packed

  subroutine with_procedure(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: z, p, ierr
    do z = 1, nz
      do p = 1, np
        call plane(s(1,z,p), n, z*p, me)
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('with a procedure', r, n*nz*np)
  end subroutine with_procedure

  subroutine irregular(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer, parameter :: m = 17
    real(8) :: s(n, nz, np), r(n, nz, np), temp(0:m-1)
    integer :: i, j, k, z, p, ierr
    do z = 1, nz
      do j = 0, m - 1
        temp(j) = j*z + me
      end do
      do p = 1, np
        do i = 1, n
          k = mod(i*z + p, m)
          temp(mod(k*k, m)) = temp(k) + 0.5d0
          if (temp(k) > 20) k = mod(int(temp(k)), m)
          s(i,z,p) = temp(k)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('irregular', r, n*nz*np)
  end subroutine irregular

  subroutine inner_loop(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    do p = 1, np
      do z = 1, nz
        do i = 1, n
          s(i,z,p) = 10000*me + 1000*p + 10*z + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show_integers('inner loop', r, n*nz*np)
  end subroutine inner_loop

  subroutine there_and_back(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np), t(n, nz, np), u(n, nz, np)
    integer :: z, ierr
    do z = 1, nz
      s(:,z,:) = dble(z + 100*me)
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    if (np > 1) then
      do z = 1, nz
        t(:,z,:) = 2*r(:,z,:)
      end do
      call MPI_Alltoall(t, n*nz, MPI_DOUBLE_PRECISION, u, n*nz, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
    else
      u = r
    end if
    call show('there', r, n*nz*np)
    call show('and back', u, n*nz*np)
  end subroutine there_and_back

end module blocks
