!> The part of the mesh that a rank has, and who has what is around it.
module mesh
  use mpi
  implicit none
  public
  include 'sizes.inc'
  integer, save :: grid, columns, rows, column, row
  integer, save :: west, east, south, north, southwest, southeast, northwest, northeast

contains

  !> Deals the mesh to the ranks of `comm`: as square as their number allows, not periodic.
  subroutine deal(comm)
    integer, intent(in) :: comm
    integer :: np, me, ierr
    integer :: dims(2), place(2)
    logical :: around(2)

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 2, dims, ierr)
    around = .false.
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

  !> The rank that is so many columns and rows from here, or none.
  integer function neighbour(right, up)
    integer, intent(in) :: right, up
    integer :: place(2), ierr

    place(1) = column + right
    place(2) = row + up
    neighbour = MPI_PROC_NULL
    if (any(place < 0) .or. place(1) >= columns .or. place(2) >= rows) return
    call MPI_Cart_rank(grid, place, neighbour, ierr)
  end function neighbour

end module mesh


!> Fetches what a shifted reference to an array needs of one neighbour: a message each.
module shifts
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use mesh, only: nx, ny, grid, west, east, south, north, &
      southwest, southeast, northwest, northeast
  implicit none
  private
  public :: from_west, from_east, from_south, from_north
  public :: from_southwest, from_southeast, from_northwest, from_northeast

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

  !> The corner in the northeast.
  subroutine from_northeast(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    integer :: ierr

    call MPI_Sendrecv(f(1, 1), 1, MPI_DOUBLE_PRECISION, southwest, 8, &
                      f(nx + 1, ny + 1), 1, MPI_DOUBLE_PRECISION, northeast, 8, grid, &
                      MPI_STATUS_IGNORE, ierr)
  end subroutine from_northeast

end module shifts


!> A mesh that fits a body, by Thompson's method: the coordinates are relaxed along columns.
program tomcatv
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use boundary, only: first_x, first_y, relaxation
  use mesh, only: column, columns, deal, grid, nx, ny, row, rows, steps
  use mpi
  use results, only: mix_reals, report
  use shifts
  implicit none
  real(real64), allocatable, dimension(:,:) :: x, y, aa, dd, d, rx, ry, a, b, c
  real(real64) :: xx, yx, xy, yy, r, largest_x, largest_y, largest(2), began, elapsed
  integer(int64) :: hash, received
  integer :: ierr, step, stage, i, j

  call MPI_Init(ierr)
  call deal(MPI_COMM_WORLD)
  allocate(x(0:nx+1, 0:ny+1), y(0:nx+1, 0:ny+1), aa(0:nx+1, 0:ny+1), dd(nx, ny))
  allocate(d(0:nx+1, 0:ny+1), rx(0:nx+1, 0:ny+1), ry(0:nx+1, 0:ny+1))
  allocate(a(nx, ny), b(nx, ny), c(nx, ny))
  do j = 0, ny + 1
    do i = 0, nx + 1
      x(i, j) = first_x(column*nx + i, row*ny + j, columns*nx + 1, rows*ny + 1)
      y(i, j) = first_y(column*nx + i, row*ny + j, columns*nx + 1, rows*ny + 1)
    end do
  end do
  aa = 0
  d = 0
  rx = 0
  ry = 0
  hash = 1
  received = 0

  call MPI_Barrier(grid, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call from_east(x)
    call from_west(x)
    call from_east(y)
    call from_west(y)
    call from_north(x)
    call from_south(x)
    call from_north(y)
    call from_south(y)
    do j = 1, ny
      do i = 1, nx
        xx = x(i+1, j) - x(i-1, j)
        yx = y(i+1, j) - y(i-1, j)
        xy = x(i, j+1) - x(i, j-1)
        yy = y(i, j+1) - y(i, j-1)
        a(i, j) = 0.25_real64*(xy*xy + yy*yy)
        b(i, j) = 0.25_real64*(xx*xx + yx*yx)
        c(i, j) = 0.125_real64*(xx*xy + yx*yy)
        aa(i, j) = -b(i, j)
        dd(i, j) = b(i, j) + b(i, j) + a(i, j)*relaxation
      end do
    end do

    call from_east(x)
    call from_west(x)
    call from_north(x)
    call from_south(x)
    call from_east(x)
    call from_north(x)
    call from_northeast(x)
    call from_east(x)
    call from_south(x)
    call from_southeast(x)
    call from_west(x)
    call from_north(x)
    call from_northwest(x)
    call from_west(x)
    call from_south(x)
    call from_southwest(x)
    do j = 1, ny
      do i = 1, nx
        rx(i, j) = a(i, j)*(x(i+1, j) - 2*x(i, j) + x(i-1, j)) &
                 + b(i, j)*(x(i, j+1) - 2*x(i, j) + x(i, j-1)) &
                 - c(i, j)*(x(i+1, j+1) - x(i+1, j-1) - x(i-1, j+1) + x(i-1, j-1))
      end do
    end do

    call from_east(y)
    call from_west(y)
    call from_north(y)
    call from_south(y)
    call from_east(y)
    call from_north(y)
    call from_northeast(y)
    call from_east(y)
    call from_south(y)
    call from_southeast(y)
    call from_west(y)
    call from_north(y)
    call from_northwest(y)
    call from_west(y)
    call from_south(y)
    call from_southwest(y)
    do j = 1, ny
      do i = 1, nx
        ry(i, j) = a(i, j)*(y(i+1, j) - 2*y(i, j) + y(i-1, j)) &
                 + b(i, j)*(y(i, j+1) - 2*y(i, j) + y(i, j-1)) &
                 - c(i, j)*(y(i+1, j+1) - y(i+1, j-1) - y(i-1, j+1) + y(i-1, j-1))
      end do
    end do

    largest_x = 0
    largest_y = 0
    do j = 1, ny
      do i = 1, nx
        largest_x = max(largest_x, abs(rx(i, j)))
        largest_y = max(largest_y, abs(ry(i, j)))
      end do
    end do
    call MPI_Allreduce(largest_x, largest(1), 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid, ierr)
    call MPI_Allreduce(largest_y, largest(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid, ierr)

    call from_south(aa)
    do stage = 1, rows
      call from_south(d)
      call from_south(rx)
      call from_south(ry)
      if (stage == row + 1) then
        do j = 1, ny
          do i = 1, nx
            r = aa(i, j)*d(i, j-1)
            d(i, j) = 1/(dd(i, j) - aa(i, j-1)*r)
            rx(i, j) = rx(i, j) - rx(i, j-1)*r
            ry(i, j) = ry(i, j) - ry(i, j-1)*r
          end do
        end do
      end if
    end do
    do stage = rows, 1, -1
      call from_north(rx)
      call from_north(ry)
      if (stage == row + 1) then
        do j = ny, 1, -1
          do i = 1, nx
            rx(i, j) = (rx(i, j) - aa(i, j)*rx(i, j+1))*d(i, j)
            ry(i, j) = (ry(i, j) - aa(i, j)*ry(i, j+1))*d(i, j)
          end do
        end do
      end if
    end do

    do j = 1, ny
      do i = 1, nx
        x(i, j) = x(i, j) + rx(i, j)
        y(i, j) = y(i, j) + ry(i, j)
      end do
    end do
  end do
  elapsed = MPI_Wtime() - began

  call mix_reals(size(x), x, hash)
  call mix_reals(size(y), y, hash)
  call mix_reals(2, largest, hash)
  received = received + steps*4*(nx + ny)
  call report('tomcatv', grid, hash, received, elapsed)
  deallocate(x, y, aa, dd, d, rx, ry, a, b, c)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)
end program tomcatv
