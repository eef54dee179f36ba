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
!> came on the axes before.  Each axis has buffers of its own, and points far from the faces may be
!> read while an axis is under way.
module faces
  use, intrinsic :: iso_fortran_env, only: real64
  use cube, only: exchanged, grid, n1, n2, n3, neighbour
  use mpi
  implicit none
  private
  public :: finish, receive_all, start
  integer, parameter :: longest = max(n1*n2, n1*n3, n2*n3)
  real(real64), asynchronous, save :: outgoing(longest, -1:1, 3), incoming(longest, -1:1, 3)
  integer, save :: receives(-1:1, 3), sends(-1:1, 3)

contains

  !> Posts the receives of all faces.
  subroutine receive_all()
    integer :: axis, dir, ierr

    do axis = 1, 3
      do dir = -1, 1, 2
        receives(dir, axis) = MPI_REQUEST_NULL
        sends(dir, axis) = MPI_REQUEST_NULL
        if (.not. exchanged(axis)) cycle
        call MPI_Irecv(incoming(1, dir, axis), longest, MPI_DOUBLE_PRECISION, &
                       neighbour(dir, axis), 10*axis - dir, grid, receives(dir, axis), ierr)
      end do
    end do
  end subroutine receive_all

  !> Starts to send the two faces of an axis.
  subroutine start(axis, u)
    integer, intent(in) :: axis
    real(real64), intent(in) :: u(n1, n2, n3)

    if (.not. exchanged(axis)) return
    call give(axis, 1, u)
    call give(axis, -1, u)
  end subroutine start

  !> Waits for an axis, and puts what came around u.
  subroutine finish(axis, u)
    integer, intent(in) :: axis
    real(real64), intent(inout) :: u(n1, n2, n3)

    if (.not. exchanged(axis)) return
    call take(axis, -1, u)
    call take(axis, 1, u)
  end subroutine finish

  !> Starts to send the face towards direction `dir`.
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
          outgoing(count, dir, axis) = u(face, i2, i3)
        end do
      end do
    case (2)
      face = merge(2, n2 - 1, dir < 0)
      do i3 = 2, n3 - 1
        do i1 = 1, n1
          count = count + 1
          outgoing(count, dir, axis) = u(i1, face, i3)
        end do
      end do
    case (3)
      face = merge(2, n3 - 1, dir < 0)
      do i2 = 1, n2
        do i1 = 1, n1
          count = count + 1
          outgoing(count, dir, axis) = u(i1, i2, face)
        end do
      end do
    end select
    call MPI_Isend(outgoing(1, dir, axis), count, MPI_DOUBLE_PRECISION, neighbour(dir, axis), &
                   10*axis + dir, grid, sends(dir, axis), ierr)
  end subroutine give

  !> Takes what comes from direction `dir`; what was sent there is gone then, too.
  subroutine take(axis, dir, u)
    integer, intent(in) :: axis, dir
    real(real64), intent(inout) :: u(n1, n2, n3)
    integer :: face, count, i1, i2, i3, ierr

    call MPI_Wait(receives(dir, axis), MPI_STATUS_IGNORE, ierr)
    count = 0
    select case (axis)
    case (1)
      face = merge(1, n1, dir < 0)
      do i3 = 2, n3 - 1
        do i2 = 2, n2 - 1
          count = count + 1
          u(face, i2, i3) = incoming(count, dir, axis)
        end do
      end do
    case (2)
      face = merge(1, n2, dir < 0)
      do i3 = 2, n3 - 1
        do i1 = 1, n1
          count = count + 1
          u(i1, face, i3) = incoming(count, dir, axis)
        end do
      end do
    case (3)
      face = merge(1, n3, dir < 0)
      do i2 = 1, n2
        do i1 = 1, n1
          count = count + 1
          u(i1, i2, face) = incoming(count, dir, axis)
        end do
      end do
    end select
    call MPI_Wait(sends(dir, axis), MPI_STATUS_IGNORE, ierr)
  end subroutine take

end module faces


!> One step of a smoother.
module smoother
  use, intrinsic :: iso_fortran_env, only: real64
  use cube, only: n1, n2, n3
  use faces, only: finish, receive_all, start
  use weights, only: weigh
  implicit none
  private
  public :: smooth, smooth_and_exchange
  real(real64), parameter :: c(0:2) = [-0.375_real64, 0.03125_real64, -0.015625_real64]

contains

  !> Improves u by what is left in r while the faces of r are exchanged: an axis is under way while
  !> a third of the planes is smoothed, as far as the axes before allow.
  subroutine smooth_and_exchange(step, r, u)
    integer, intent(in) :: step
    real(real64), intent(inout) :: r(n1, n2, n3)
    real(real64), intent(inout) :: u(n1, n2, n3)
    integer :: first, second

    first = 2 + (n3 - 4)/3
    second = 2 + 2*(n3 - 4)/3
    call receive_all()
    call start(1, r)
    call smooth(step, 3, n1 - 2, 3, n2 - 2, 3, first, r, u)
    call finish(1, r)
    call start(2, r)
    call smooth(step, 2, 2, 3, n2 - 2, 3, first, r, u)
    call smooth(step, n1 - 1, n1 - 1, 3, n2 - 2, 3, first, r, u)
    call smooth(step, 2, n1 - 1, 3, n2 - 2, first + 1, second, r, u)
    call finish(2, r)
    call start(3, r)
    call smooth(step, 2, n1 - 1, 2, 2, 3, second, r, u)
    call smooth(step, 2, n1 - 1, n2 - 1, n2 - 1, 3, second, r, u)
    call smooth(step, 2, n1 - 1, 2, n2 - 1, second + 1, n3 - 2, r, u)
    call finish(3, r)
    call smooth(step, 2, n1 - 1, 2, n2 - 1, 2, 2, r, u)
    call smooth(step, 2, n1 - 1, 2, n2 - 1, n3 - 1, n3 - 1, r, u)
  end subroutine smooth_and_exchange

  !> Improves u by what is left in r, in the points from a1, a2, a3 to b1, b2, b3.
  subroutine smooth(step, a1, b1, a2, b2, a3, b3, r, u)
    integer, intent(in) :: step, a1, b1, a2, b2, a3, b3
    real(real64), intent(in) :: r(n1, n2, n3)
    real(real64), intent(inout) :: u(n1, n2, n3)
    real(real64) :: near(n1), far(n1), w(n1)
    integer :: i1, i2, i3

    do i3 = a3, b3
      do i2 = a2, b2
        do i1 = a1 - 1, b1 + 1
          near(i1) = r(i1, i2-1, i3) + r(i1, i2+1, i3) + r(i1, i2, i3-1) + r(i1, i2, i3+1)
          far(i1) = r(i1, i2-1, i3-1) + r(i1, i2+1, i3-1) + r(i1, i2-1, i3+1) + r(i1, i2+1, i3+1)
        end do
        call weigh(b1 - a1 + 1, step, r(a1, i2, i3), w)
        do i1 = a1, b1
          u(i1, i2, i3) = u(i1, i2, i3) &
                          + w(i1-a1+1)*(c(0)*r(i1, i2, i3) &
                                     + c(1)*(r(i1-1, i2, i3) + r(i1+1, i2, i3) + near(i1)) &
                                     + c(2)*(far(i1) + near(i1-1) + near(i1+1)))
        end do
      end do
    end do
  end subroutine smooth

end module smoother


!> Two fields smooth each other; after each step, what has changed is exchanged.  Overlapped by hand:
!> the exchange of one field goes on while the other one is smoothed.
program multigrid_smooth
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use cube, only: cut_cube, grid, n1, n2, n3, steps
  use faces, only: finish, receive_all, start
  use mpi
  use results, only: mix_reals, report
  use smoother, only: smooth, smooth_and_exchange
  implicit none
  real(real64), allocatable :: u(:,:,:), r(:,:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: me, ierr, step, axis, i1, i2, i3

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
  call smooth(1, 2, n1 - 1, 2, n2 - 1, 2, n3 - 1, r, u)
  do step = 1, steps
    call smooth_and_exchange(step, u, r)
    if (step < steps) call smooth_and_exchange(step + 1, r, u)
  end do
  call receive_all()
  do axis = 1, 3
    call start(axis, r)
    call finish(axis, r)
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
