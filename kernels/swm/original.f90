!> The part of the ocean that a rank has, and who has what is around it.
module ocean
  use mpi
  implicit none
  public
  include 'sizes.inc'
  integer, save :: grid, columns, rows, column, row
  integer, save :: west, east, south, north, southwest, southeast, northwest, northeast

contains

  !> Deals the ocean to the ranks of `comm`: as square as their number allows, periodic.
  subroutine deal(comm)
    integer, intent(in) :: comm
    integer :: np, me, ierr
    integer :: dims(2), place(2)
    logical :: around(2)

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 2, dims, ierr)
    around = .true.
    call MPI_Cart_create(comm, 2, dims, around, .false., grid, ierr)
    call MPI_Comm_rank(grid, me, ierr)
    call MPI_Cart_coords(grid, me, 2, place, ierr)
    columns = dims(1)
    rows = dims(2)
    column = place(1)
    row = place(2)
    west = neighbour(-1, 0)
    east = neighbour(1, 0)
    south = neighbour(0, -1)
    north = neighbour(0, 1)
    southwest = neighbour(-1, -1)
    southeast = neighbour(1, -1)
    northwest = neighbour(-1, 1)
    northeast = neighbour(1, 1)
  end subroutine deal

  !> The rank that is so many columns and rows from here, around the ocean if need be.
  integer function neighbour(right, up)
    integer, intent(in) :: right, up
    integer :: place(2), ierr

    place(1) = column + right
    place(2) = row + up
    call MPI_Cart_rank(grid, place, neighbour, ierr)
  end function neighbour

end module ocean


!> Fetches what a shifted reference to an array needs of one neighbour: a message each.
module shifts
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use ocean, only: nx, ny, grid, west, east, south, north, &
      southwest, southeast, northwest, northeast
  implicit none
  private
  public :: from_west, from_east, from_south, from_north
  public :: from_southwest, from_southeast, from_northwest

contains

  !> The column before the first one.
  subroutine from_west(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    real(real64) :: outgoing(ny), incoming(ny)
    integer :: j, ierr

    do j = 1, ny
      outgoing(j) = f(nx, j)
    end do
    call MPI_Sendrecv(outgoing, ny, MPI_DOUBLE_PRECISION, east, 1, &
                      incoming, ny, MPI_DOUBLE_PRECISION, west, 1, grid, &
                      MPI_STATUS_IGNORE, ierr)
    if (west /= MPI_PROC_NULL) then
      do j = 1, ny
        f(0, j) = incoming(j)
      end do
    end if
  end subroutine from_west

  !> The column behind the last one.
  subroutine from_east(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    real(real64) :: outgoing(ny), incoming(ny)
    integer :: j, ierr

    do j = 1, ny
      outgoing(j) = f(1, j)
    end do
    call MPI_Sendrecv(outgoing, ny, MPI_DOUBLE_PRECISION, west, 2, &
                      incoming, ny, MPI_DOUBLE_PRECISION, east, 2, grid, &
                      MPI_STATUS_IGNORE, ierr)
    if (east /= MPI_PROC_NULL) then
      do j = 1, ny
        f(nx + 1, j) = incoming(j)
      end do
    end if
  end subroutine from_east

  !> The row below.
  subroutine from_south(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(1, ny), nx, MPI_DOUBLE_PRECISION, north, 3, &
                      f(1, 0), nx, MPI_DOUBLE_PRECISION, south, 3, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_south

  !> The row above.
  subroutine from_north(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(1, 1), nx, MPI_DOUBLE_PRECISION, south, 4, &
                      f(1, ny + 1), nx, MPI_DOUBLE_PRECISION, north, 4, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_north

  !> The corner in the southwest.
  subroutine from_southwest(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(nx, ny), 1, MPI_DOUBLE_PRECISION, northeast, 5, &
                      f(0, 0), 1, MPI_DOUBLE_PRECISION, southwest, 5, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_southwest

  !> The corner in the southeast.
  subroutine from_southeast(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(1, ny), 1, MPI_DOUBLE_PRECISION, northwest, 6, &
                      f(nx + 1, 0), 1, MPI_DOUBLE_PRECISION, southeast, 6, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_southeast

  !> The corner in the northwest.
  subroutine from_northwest(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(nx, 1), 1, MPI_DOUBLE_PRECISION, southeast, 7, &
                      f(0, ny + 1), 1, MPI_DOUBLE_PRECISION, northwest, 7, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_northwest

end module shifts


!> Shallow water on a staggered grid (Sadourny 1975), stepped by leaps with a filter in time.
program swm
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use ocean, only: column, columns, deal, grid, nx, ny, row, rows, steps
  use results, only: mix_reals, report
  use shifts
  use waves, only: dt, dx, dy, first_p, first_u, first_v, smoothing
  implicit none
  real(real64), allocatable, dimension(:,:) :: u, v, p, u_old, v_old, p_old, u_new, v_new, p_new
  real(real64), allocatable, dimension(:,:) :: cu, cv, z, h
  real(real64) :: seconds, began, elapsed
  integer(int64) :: hash, received
  integer :: ierr, step, i, j

  call MPI_Init(ierr)
  call deal(MPI_COMM_WORLD)
  allocate(u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1), p(0:nx+1, 0:ny+1))
  allocate(cu(0:nx+1, 0:ny+1), cv(0:nx+1, 0:ny+1), z(0:nx+1, 0:ny+1), h(0:nx+1, 0:ny+1))
  allocate(u_old(nx, ny), v_old(nx, ny), p_old(nx, ny))
  allocate(u_new(nx, ny), v_new(nx, ny), p_new(nx, ny))
  u = 0
  v = 0
  p = 0
  cu = 0
  cv = 0
  z = 0
  h = 0
  do j = 1, ny
    do i = 1, nx
      u(i, j) = first_u(column*nx + i, row*ny + j, columns*nx, rows*ny)
      v(i, j) = first_v(column*nx + i, row*ny + j, columns*nx, rows*ny)
      p(i, j) = first_p(column*nx + i, row*ny + j, columns*nx, rows*ny)
      u_old(i, j) = u(i, j)
      v_old(i, j) = v(i, j)
      p_old(i, j) = p(i, j)
    end do
  end do
  hash = 1
  received = 0
  seconds = dt

  call MPI_Barrier(grid, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call from_west(p)
    do j = 1, ny
      do i = 1, nx
        cu(i, j) = 0.5_real64*(p(i, j) + p(i-1, j))*u(i, j)
      end do
    end do

    call from_south(p)
    do j = 1, ny
      do i = 1, nx
        cv(i, j) = 0.5_real64*(p(i, j) + p(i, j-1))*v(i, j)
      end do
    end do

    call from_west(v)
    call from_south(u)
    call from_west(p)
    call from_south(p)
    call from_southwest(p)
    call from_south(p)
    call from_west(p)
    do j = 1, ny
      do i = 1, nx
        z(i, j) = (4*(v(i, j) - v(i-1, j))/dx - 4*(u(i, j) - u(i, j-1))/dy) &
                 /(p(i-1, j-1) + p(i, j-1) + p(i, j) + p(i-1, j))
      end do
    end do

    call from_east(u)
    call from_north(v)
    do j = 1, ny
      do i = 1, nx
        h(i, j) = p(i, j) + 0.25_real64*(u(i+1, j)*u(i+1, j) + u(i, j)*u(i, j) &
                                          + v(i, j+1)*v(i, j+1) + v(i, j)*v(i, j))
      end do
    end do

    call from_north(z)
    call from_north(cv)
    call from_west(cv)
    call from_north(cv)
    call from_northwest(cv)
    call from_west(cv)
    call from_west(h)
    do j = 1, ny
      do i = 1, nx
        u_new(i, j) = u_old(i, j) - seconds/dx*(h(i, j) - h(i-1, j)) &
                     + seconds/8*(z(i, j+1) + z(i, j)) &
                       *(cv(i, j+1) + cv(i-1, j+1) + cv(i-1, j) + cv(i, j))
      end do
    end do

    call from_east(z)
    call from_east(cu)
    call from_south(cu)
    call from_east(cu)
    call from_south(cu)
    call from_southeast(cu)
    call from_south(h)
    do j = 1, ny
      do i = 1, nx
        v_new(i, j) = v_old(i, j) - seconds/dy*(h(i, j) - h(i, j-1)) &
                     - seconds/8*(z(i+1, j) + z(i, j)) &
                       *(cu(i+1, j) + cu(i, j) + cu(i, j-1) + cu(i+1, j-1))
      end do
    end do

    call from_east(cu)
    call from_north(cv)
    do j = 1, ny
      do i = 1, nx
        p_new(i, j) = p_old(i, j) - seconds/dx*(cu(i+1, j) - cu(i, j)) &
                     - seconds/dy*(cv(i, j+1) - cv(i, j))
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        u_old(i, j) = u(i, j) + smoothing*(u_new(i, j) - 2*u(i, j) + u_old(i, j))
        v_old(i, j) = v(i, j) + smoothing*(v_new(i, j) - 2*v(i, j) + v_old(i, j))
        p_old(i, j) = p(i, j) + smoothing*(p_new(i, j) - 2*p(i, j) + p_old(i, j))
        u(i, j) = u_new(i, j)
        v(i, j) = v_new(i, j)
        p(i, j) = p_new(i, j)
      end do
    end do
    if (step == 1) seconds = 2*dt
  end do
  elapsed = MPI_Wtime() - began

  call mix_reals(size(u_new), u_new, hash)
  call mix_reals(size(v_new), v_new, hash)
  call mix_reals(size(p_new), p_new, hash)
  received = received + steps*5*(nx + ny)
  call report('swm', grid, hash, received, elapsed)
  deallocate(u, v, p, cu, cv, z, h, u_old, v_old, p_old, u_new, v_new, p_new)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)
end program swm
