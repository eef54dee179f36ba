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


!> Exchanges what neighbours need of each other: one message for each neighbour.
module halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use mesh, only: nx, ny, grid, west, east, south, north, southwest, southeast, northwest, northeast
  implicit none
  private
  public :: exchange
  integer, parameter :: longest = 2*max(nx, ny)
  real(real64), asynchronous, save :: outgoing(longest, 8), incoming(longest, 8)

contains

  !> Fills the points around two fields with the neighbours' outermost ones; at the boundary the
  !> points stay as they are.
  subroutine exchange(x, y)
    real(real64), intent(inout), dimension(0:nx+1, 0:ny+1) :: x, y
    integer, parameter :: opposite(8) = [2, 1, 4, 3, 8, 7, 6, 5]
    integer :: requests(16), others(8), lengths(8), side, ierr

    others(1) = west
    others(2) = east
    others(3) = south
    others(4) = north
    others(5) = southwest
    others(6) = southeast
    others(7) = northwest
    others(8) = northeast
    lengths(1:2) = 2*ny
    lengths(3:4) = 2*nx
    lengths(5:8) = 2
    do side = 1, 8
      call MPI_Irecv(incoming(1, side), lengths(side), MPI_DOUBLE_PRECISION, others(side), side, &
                     grid, requests(side), ierr)
    end do
    outgoing(1:ny, 1) = x(1, 1:ny)
    outgoing(ny+1:2*ny, 1) = y(1, 1:ny)
    outgoing(1:ny, 2) = x(nx, 1:ny)
    outgoing(ny+1:2*ny, 2) = y(nx, 1:ny)
    outgoing(1:nx, 3) = x(1:nx, 1)
    outgoing(nx+1:2*nx, 3) = y(1:nx, 1)
    outgoing(1:nx, 4) = x(1:nx, ny)
    outgoing(nx+1:2*nx, 4) = y(1:nx, ny)
    outgoing(1, 5) = x(1, 1)
    outgoing(2, 5) = y(1, 1)
    outgoing(1, 6) = x(nx, 1)
    outgoing(2, 6) = y(nx, 1)
    outgoing(1, 7) = x(1, ny)
    outgoing(2, 7) = y(1, ny)
    outgoing(1, 8) = x(nx, ny)
    outgoing(2, 8) = y(nx, ny)
    do side = 1, 8
      call MPI_Isend(outgoing(1, side), lengths(side), MPI_DOUBLE_PRECISION, others(side), &
                     opposite(side), grid, requests(8 + side), ierr)
    end do
    call MPI_Waitall(16, requests, MPI_STATUSES_IGNORE, ierr)
    if (west /= MPI_PROC_NULL) then
      x(0, 1:ny) = incoming(1:ny, 1)
      y(0, 1:ny) = incoming(ny+1:2*ny, 1)
    end if
    if (east /= MPI_PROC_NULL) then
      x(nx + 1, 1:ny) = incoming(1:ny, 2)
      y(nx + 1, 1:ny) = incoming(ny+1:2*ny, 2)
    end if
    if (south /= MPI_PROC_NULL) then
      x(1:nx, 0) = incoming(1:nx, 3)
      y(1:nx, 0) = incoming(nx+1:2*nx, 3)
    end if
    if (north /= MPI_PROC_NULL) then
      x(1:nx, ny + 1) = incoming(1:nx, 4)
      y(1:nx, ny + 1) = incoming(nx+1:2*nx, 4)
    end if
    if (southwest /= MPI_PROC_NULL) then
      x(0, 0) = incoming(1, 5)
      y(0, 0) = incoming(2, 5)
    end if
    if (southeast /= MPI_PROC_NULL) then
      x(nx + 1, 0) = incoming(1, 6)
      y(nx + 1, 0) = incoming(2, 6)
    end if
    if (northwest /= MPI_PROC_NULL) then
      x(0, ny + 1) = incoming(1, 7)
      y(0, ny + 1) = incoming(2, 7)
    end if
    if (northeast /= MPI_PROC_NULL) then
      x(nx + 1, ny + 1) = incoming(1, 8)
      y(nx + 1, ny + 1) = incoming(2, 8)
    end if
  end subroutine exchange

end module halo


!> A mesh that fits a body, by Thompson's method: the coordinates are relaxed along columns.  What
!> goes to one neighbour goes in one message, and the sweeps pass from rank to rank.
program tomcatv
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use boundary, only: first_x, first_y, relaxation
  use halo, only: exchange
  use mesh, only: column, columns, deal, grid, north, nx, ny, row, rows, south, steps
  use mpi
  use results, only: mix_reals, report
  implicit none
  real(real64), allocatable, dimension(:,:) :: x, y, aa, dd, d, rx, ry, a, b, c
  real(real64) :: xx, yx, xy, yy, r, largest_x, largest_y, largest(2), began, elapsed
  real(real64) :: below(nx, 4), above(nx, 2)
  integer(int64) :: hash, received
  integer :: ierr, step, i, j

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
    call exchange(x, y)
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

    do j = 1, ny
      do i = 1, nx
        rx(i, j) = a(i, j)*(x(i+1, j) - 2*x(i, j) + x(i-1, j)) &
                 + b(i, j)*(x(i, j+1) - 2*x(i, j) + x(i, j-1)) &
                 - c(i, j)*(x(i+1, j+1) - x(i+1, j-1) - x(i-1, j+1) + x(i-1, j-1))
      end do
    end do

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
    largest(1) = largest_x
    largest(2) = largest_y
    call MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, grid, ierr)

    call MPI_Recv(below, 4*nx, MPI_DOUBLE_PRECISION, south, 9, grid, MPI_STATUS_IGNORE, ierr)
    if (south /= MPI_PROC_NULL) then
      aa(1:nx, 0) = below(:, 1)
      d(1:nx, 0) = below(:, 2)
      rx(1:nx, 0) = below(:, 3)
      ry(1:nx, 0) = below(:, 4)
    end if
    do j = 1, ny
      do i = 1, nx
        r = aa(i, j)*d(i, j-1)
        d(i, j) = 1/(dd(i, j) - aa(i, j-1)*r)
        rx(i, j) = rx(i, j) - rx(i, j-1)*r
        ry(i, j) = ry(i, j) - ry(i, j-1)*r
      end do
    end do
    below(:, 1) = aa(1:nx, ny)
    below(:, 2) = d(1:nx, ny)
    below(:, 3) = rx(1:nx, ny)
    below(:, 4) = ry(1:nx, ny)
    call MPI_Send(below, 4*nx, MPI_DOUBLE_PRECISION, north, 9, grid, ierr)

    call MPI_Recv(above, 2*nx, MPI_DOUBLE_PRECISION, north, 10, grid, MPI_STATUS_IGNORE, ierr)
    if (north /= MPI_PROC_NULL) then
      rx(1:nx, ny + 1) = above(:, 1)
      ry(1:nx, ny + 1) = above(:, 2)
    end if
    do j = ny, 1, -1
      do i = 1, nx
        rx(i, j) = (rx(i, j) - aa(i, j)*rx(i, j+1))*d(i, j)
        ry(i, j) = (ry(i, j) - aa(i, j)*ry(i, j+1))*d(i, j)
      end do
    end do
    above(:, 1) = rx(1:nx, 1)
    above(:, 2) = ry(1:nx, 1)
    call MPI_Send(above, 2*nx, MPI_DOUBLE_PRECISION, south, 10, grid, ierr)

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
