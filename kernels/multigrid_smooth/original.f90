!> The cube of points that a rank has, and its neighbours in three dimensions.
module cube
  use mpi
  implicit none
  public
  include 'sizes.inc'
  !> Points of a rank on each axis, without those that neighbours have too.
  integer, parameter :: points(3) = [n1 - 2, n2 - 2, n3 - 2]
  integer, save :: grid, neighbour(-1:1, 3)
  logical, save :: exchanged(3)

contains

  !> Deals the grid to the ranks of `comm`, in all three dimensions; it is periodic.  An axis with
  !> one point is not exchanged.
  subroutine cut_cube(comm)
    integer, intent(in) :: comm
    integer :: np, axis, ierr
    integer :: dims(3)

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 3, dims, ierr)
    call MPI_Cart_create(comm, 3, dims, [.true., .true., .true.], .false., grid, ierr)
    do axis = 1, 3
      call MPI_Cart_shift(grid, axis - 1, 1, neighbour(-1, axis), neighbour(1, axis), ierr)
      exchanged(axis) = points(axis)*dims(axis) > 1
    end do
  end subroutine cut_cube

end module cube


!> Exchanges the six faces of a cube, one axis after the other: the faces of an axis contain what
!> came on the axes before.
module faces
  use, intrinsic :: iso_fortran_env, only: real64
  use cube, only: exchanged, grid, n1, n2, n3, neighbour
  use mpi
  implicit none
  private
  public :: exchange
  integer, parameter :: longest = max(n1*n2, n1*n3, n2*n3)
  real(real64), save :: outgoing(longest, -1:1), incoming(longest, -1:1)
  integer, save :: request(-1:1)

contains

  !> Fills the points around u with the neighbours' outermost ones.
  subroutine exchange(u)
    real(real64), intent(inout) :: u(n1, n2, n3)
    integer :: axis

    do axis = 1, 3
      if (.not. exchanged(axis)) cycle
      call ready(axis, -1)
      call ready(axis, 1)
      call give(axis, 1, u)
      call give(axis, -1, u)
      call take(axis, -1, u)
      call take(axis, 1, u)
    end do
  end subroutine exchange

  !> Posts the receive of the face that comes from direction `dir`.
  subroutine ready(axis, dir)
    integer, intent(in) :: axis, dir
    integer :: i, ierr

    do i = 1, longest
      incoming(i, dir) = 0
    end do
    call MPI_Irecv(incoming(1, dir), longest, MPI_DOUBLE_PRECISION, neighbour(dir, axis), &
                   10*axis - dir, grid, request(dir), ierr)
  end subroutine ready

  !> Sends the face towards direction `dir`.
  subroutine give(axis, dir, u)
    integer, intent(in) :: axis, dir
    real(real64), intent(in) :: u(n1, n2, n3)
    integer :: face, count, i1, i2, i3, ierr

    count = 0
    select case (axis)
    case (1)
      face = merge(2, n1 - 1, dir < 0)
      do i3 = 2, n3 - 1
        do i2 = 2, n2 - 1
          count = count + 1
          outgoing(count, dir) = u(face, i2, i3)
        end do
      end do
    case (2)
      face = merge(2, n2 - 1, dir < 0)
      do i3 = 2, n3 - 1
        do i1 = 1, n1
          count = count + 1
          outgoing(count, dir) = u(i1, face, i3)
        end do
      end do
    case (3)
      face = merge(2, n3 - 1, dir < 0)
      do i2 = 1, n2
        do i1 = 1, n1
          count = count + 1
          outgoing(count, dir) = u(i1, i2, face)
        end do
      end do
    end select
    call MPI_Send(outgoing(1, dir), count, MPI_DOUBLE_PRECISION, neighbour(dir, axis), &
                  10*axis + dir, grid, ierr)
  end subroutine give

  !> Takes what comes from direction `dir`.
  subroutine take(axis, dir, u)
    integer, intent(in) :: axis, dir
    real(real64), intent(inout) :: u(n1, n2, n3)
    integer :: status(MPI_STATUS_SIZE), face, count, i1, i2, i3, ierr

    call MPI_Wait(request(dir), status, ierr)
    count = 0
    select case (axis)
    case (1)
      face = merge(1, n1, dir < 0)
      do i3 = 2, n3 - 1
        do i2 = 2, n2 - 1
          count = count + 1
          u(face, i2, i3) = incoming(count, dir)
        end do
      end do
    case (2)
      face = merge(1, n2, dir < 0)
      do i3 = 2, n3 - 1
        do i1 = 1, n1
          count = count + 1
          u(i1, face, i3) = incoming(count, dir)
        end do
      end do
    case (3)
      face = merge(1, n3, dir < 0)
      do i2 = 1, n2
        do i1 = 1, n1
          count = count + 1
          u(i1, i2, face) = incoming(count, dir)
        end do
      end do
    end select
  end subroutine take

end module faces


!> One step of a smoother.
module smoother
  use, intrinsic :: iso_fortran_env, only: real64
  use cube, only: n1, n2, n3
  use weights, only: weigh
  implicit none
  private
  public :: smooth
  real(real64), parameter :: c(0:2) = [-0.375_real64, 0.03125_real64, -0.015625_real64]

contains

  !> Improves u by what is left in r, which is known around the cube, too.
  subroutine smooth(step, r, u)
    integer, intent(in) :: step
    real(real64), intent(in) :: r(n1, n2, n3)
    real(real64), intent(inout) :: u(n1, n2, n3)
    real(real64) :: near(n1), far(n1), w(n1)
    integer :: i1, i2, i3

    do i3 = 2, n3 - 1
      do i2 = 2, n2 - 1
        do i1 = 1, n1
          near(i1) = r(i1, i2-1, i3) + r(i1, i2+1, i3) + r(i1, i2, i3-1) + r(i1, i2, i3+1)
          far(i1) = r(i1, i2-1, i3-1) + r(i1, i2+1, i3-1) + r(i1, i2-1, i3+1) + r(i1, i2+1, i3+1)
        end do
        call weigh(n1 - 2, step, r(2, i2, i3), w)
        do i1 = 2, n1 - 1
          u(i1, i2, i3) = u(i1, i2, i3) &
                          + w(i1-1)*(c(0)*r(i1, i2, i3) &
                                     + c(1)*(r(i1-1, i2, i3) + r(i1+1, i2, i3) + near(i1)) &
                                     + c(2)*(far(i1) + near(i1-1) + near(i1+1)))
        end do
      end do
    end do
  end subroutine smooth

end module smoother


!> Two fields smooth each other; after each step, what has changed is exchanged.
program multigrid_smooth
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use cube, only: cut_cube, grid, n1, n2, n3, steps
  use faces, only: exchange
  use mpi
  use results, only: mix_reals, report
  use smoother, only: smooth
  implicit none
  real(real64), allocatable :: u(:,:,:), r(:,:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: me, ierr, step, i1, i2, i3

  call MPI_Init(ierr)
  call cut_cube(MPI_COMM_WORLD)
  call MPI_Comm_rank(grid, me, ierr)
  allocate(u(n1, n2, n3), r(n1, n2, n3))
  do i3 = 1, n3
    do i2 = 1, n2
      do i1 = 1, n1
        u(i1, i2, i3) = mod(7*i1 + 3*i2 + 5*i3 + 11*me, 23)/23.0_real64
        r(i1, i2, i3) = mod(2*i1 + 9*i2 + 4*i3 + 13*me, 29)/29.0_real64
      end do
    end do
  end do
  hash = 1
  received = 0

  call MPI_Barrier(grid, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call smooth(step, r, u)
    call exchange(u)
    call smooth(step, u, r)
    call exchange(r)
  end do
  elapsed = MPI_Wtime() - began

  call mix_reals(size(u), u, hash)
  call mix_reals(size(r), r, hash)
  received = received + steps*4*(n1*n2 + n1*n3 + n2*n3)
  call report('multigrid_smooth', grid, hash, received, elapsed)
  deallocate(u, r)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)
end program multigrid_smooth
