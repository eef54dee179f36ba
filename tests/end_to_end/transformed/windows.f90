!> Planes that are final later than in their own iteration, or before the nest.
module windows
  use mpi
  use showing, only: show, show_integers
  implicit none
  private
  public :: window_exchanges
contains

  subroutine window_exchanges(np, me)
    integer, intent(in) :: np, me
    call one_late(3, 10, np, me)
    call one_late(3, 1, np, me)
    call one_late(3, 0, np, me)
    call two_late(2, 9, np, me)
    call late_backwards(3, 8, np, me)
    call from_the_second(2, 8, np, me)
    call set_before(3, 9, np, me)
    call set_before(3, 3, np, me)
    call set_before(3, 2, np, me)
    call both_ends_backwards(2, 9, np, me)
    call one_more(2, 7, np, me)
    call packed_late(3, 7, np, me)
    call late_in_place(3, 8, np, me)
    call some_planes(2, 9, 3, np, me)
    call some_planes(2, 9, 1, np, me)
    call some_planes(2, 9, 8, np, me)
    call other_planes(2, 9, np, me)
    call inner_window(2, 9, np, me)
    call slab_ends(3, 5, np, me)
    call slab_ends(3, 2, np, me)
    call slab_middle(3, 7, np, me)
    call slab_fields(2, 6, np, me)
  end subroutine window_exchanges

  !> Iteration z still changes plane z-1.
  subroutine one_late(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    i = -1
    p = -1
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i + 10*z + 100*p + 1000*me
          if (z > 1) s(i,z-1,p) = s(i,z-1,p) + 0.5d0*s(i,z,p)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('one late', r, n*nz*np)
    call show_integers('one late, ends', [i, z, p, ierr], 4)
  end subroutine one_late

  subroutine two_late(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    complex(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, j, z, p, ierr
    do z = 1, nz
      s(:,z,:) = cmplx(me, z, 8)
      do p = 1, np
        do j = 0, 2
          if (z - j >= 1) then
            do i = 1, n
              s(i,z-j,p) = s(i,z-j,p)*(1.5d0, 0.5d0) + i*p
            end do
          end if
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_COMPLEX, r, n*nz, MPI_DOUBLE_COMPLEX, &
                      MPI_COMM_WORLD, ierr)
    call show('two late', [dble(r), aimag(r)], 2*size(r))
  end subroutine two_late

  subroutine late_backwards(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: z, p, ierr
    do z = nz, 1, -1
      do p = 1, np
        s(:,z,p) = z + 100*p + 1000*me
        if (z /= nz .and. z < nz) then
          s(1,z+1,p) = s(1,z,p) - 1
        else
          s(1,z,p) = 0
        end if
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('late backwards', r, n*nz*np)
    call show('late backwards, s', s, n*nz*np)
    call show('late backwards, end', dble([z]), 1)
  end subroutine late_backwards

  subroutine from_the_second(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    s(:,1,:) = me
    do z = 2, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i + 10*z + 100*p + 1000*me
          s(i,z-1,p) = 2*s(i,z-1,p) + s(i,z,p)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('from the second', r, n*nz*np)
  end subroutine from_the_second

  !> The first two planes, the last one and an element of each are not the nest's.
  subroutine set_before(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    s = me + 0.25d0
    i = -1
    p = -1
    do z = 3, nz - 1
      do p = 1, np
        do i = 2, n
          s(i,z,p) = i + 10*z + 100*p + 1000*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('set before', r, n*nz*np)
    call show_integers('set before, ends', [i, z, p, ierr], 4)
  end subroutine set_before

  subroutine both_ends_backwards(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(4) :: s(n, 0:nz-1, np), r(n, nz, np)
    integer :: z, p, ierr
    s = real(me)
    do z = nz - 2, 3, -1
      do p = 1, np
        s(:,z,p) = real(z + 100*p + 1000*me)
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_REAL, r, n*nz, MPI_REAL, MPI_COMM_WORLD, ierr)
    call show('both ends backwards', dble(r), n*nz*np)
    call show('both ends backwards, z', dble([z]), 1)
  end subroutine both_ends_backwards

  !> One iteration more than planes: it only finishes the last.
  subroutine one_more(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np), x
    integer :: z, p, ierr
    x = 0
    do z = 1, nz + 1
      x = x + z
      do p = 1, np
        if (z <= nz) s(:,z,p) = x + 100*p + 1000*me
        if (z >= 2) s(:,z-1,p) = s(:,z-1,p) - x/3
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('one more', r, n*nz*np)
    call show('one more, ends', [dble(z), x], 2)
  end subroutine one_more

  subroutine packed_late(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: w(n*np, nz), s(n, nz, np), r(n, nz, np)
    integer :: i, j, z, p, ierr
    do z = 1, nz
      do j = 1, n*np
        w(j,z) = sqrt(dble(j + 10*z*(me + 1)))
      end do
    end do
    do p = 1, np
      do z = 1, nz
        do i = 1, n
          s(i,z,p) = w(n*(p-1)+i,z)
          if (z > 1) s(i,z-1,p) = s(i,z-1,p) + w(n*(p-1)+i,z)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('packed late', r, n*nz*np)
  end subroutine packed_late

  !> Late planes, and the receive buffer is what they are computed from.
  subroutine late_in_place(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: z, step, ierr
    r = me
    do step = 1, 2
      do z = 1, nz
        s(:,z,:) = 2*r(:,z,:) + z
        if (z > 1) s(:,z-1,:) = s(:,z-1,:) + r(:,z,:)
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
    end do
    call show('late in place', r, n*nz*np)
  end subroutine late_in_place

  !> Where the planes begin is only known when it runs.
  subroutine some_planes(n, nz, first, np, me)
    integer, intent(in) :: n, nz, first, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: z, p, ierr
    s = me
    do z = first, nz - 1
      do p = 1, np
        s(:,z,p) = z + 100*p + 1000*me
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('some planes', r, n*nz*np)
  end subroutine some_planes

  !> As many planes on each rank, but not the same: nothing may be sent in tiles.
  subroutine other_planes(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz, np), r(n, nz, np)
    integer :: z, first, ierr
    character(4) :: text
    write (text, '(i4)') 2 + mod(me, 2)
    read (text, *) first
    s = me
    do z = first, first + 3
      s(:,z,:) = z + 1000*me
      s(:,z-1,:) = s(:,z-1,:) + 1
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('other planes', r, n*nz*np)
  end subroutine other_planes

  !> The loop over the planes is not the outermost one.
  subroutine inner_window(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    integer :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr
    s = -me
    i = -1
    z = -1
    do p = 1, np
      do z = 2, nz - 1
        do i = 1, n
          s(i,z,p) = 10000*me + 1000*p + 10*z + i
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_INTEGER, r, n*nz, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show_integers('inner window', r, n*nz*np)
    call show_integers('inner window, ends', [i, z, p], 3)
  end subroutine inner_window

  subroutine slab_ends(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, nz*np), r(n, nz*np)
    integer :: i, k, ierr
    s = me + 0.5d0
    do k = 2, nz*np - 1
      do i = 1, n
        s(i,k) = i + 10*k + 1000*me
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('slab ends', r, n*nz*np)
    call show('slab ends, k', dble([k]), 1)
  end subroutine slab_ends

  !> Less than a block at either end, and a plane that is not sent at all.
  subroutine slab_middle(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, -1:nz*np-1), r(n, nz*np)
    integer :: k, ierr
    s = me + 0.5d0
    do k = 3, nz*np - 5
      s(:,k) = 10*k + 1000*me
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('slab middle', r, n*nz*np)
  end subroutine slab_middle

  !> Planes that were read from what is received into, some of them set before.
  subroutine slab_fields(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n, n, nz*np), r(n, n, nz*np)
    integer :: k, ierr
    r = me
    s(:,:,1) = 3
    s(:,:,nz*np) = 4
    do k = 2, nz*np - 1
      s(:,:,k) = r(:,:,k+1)*k + r(:,:,k-1)
    end do
    call MPI_Alltoall(s, n*n*nz, MPI_DOUBLE_PRECISION, r, n*n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('slab fields', r, size(r))
  end subroutine slab_fields

end module windows
