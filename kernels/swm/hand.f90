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


!> Exchanges what neighbours need of each other: one message for each neighbour.
module halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use ocean, only: nx, ny, grid, west, east, south, north, southwest, southeast, northwest, &
      northeast
  implicit none
  private
  public :: exchange_currents, exchange_fluxes
  integer, parameter :: longest = 2*max(nx, ny)
  real(real64), asynchronous, save :: outgoing(longest, 6), incoming(longest, 6)
  integer, save :: requests(12)

contains

  !> Fills the points around the currents and the pressure that the fluxes need.
  subroutine exchange_currents(u, v, p)
    real(real64), intent(inout), dimension(0:nx+1, 0:ny+1) :: u, v, p
    integer :: ierr

    outgoing(1:ny, 1) = p(nx, 1:ny)
    outgoing(ny+1:2*ny, 1) = v(nx, 1:ny)
    outgoing(1:ny, 2) = u(1, 1:ny)
    outgoing(1:nx, 3) = p(1:nx, ny)
    outgoing(nx+1:2*nx, 3) = u(1:nx, ny)
    outgoing(1:nx, 4) = v(1:nx, 1)
    outgoing(1, 5) = p(nx, ny)
    call start(1, east, west, 2*ny)
    call start(2, west, east, ny)
    call start(3, north, south, 2*nx)
    call start(4, south, north, nx)
    call start(5, northeast, southwest, 1)
    call MPI_Waitall(10, requests, MPI_STATUSES_IGNORE, ierr)
    p(0, 1:ny) = incoming(1:ny, 1)
    v(0, 1:ny) = incoming(ny+1:2*ny, 1)
    u(nx + 1, 1:ny) = incoming(1:ny, 2)
    p(1:nx, 0) = incoming(1:nx, 3)
    u(1:nx, 0) = incoming(nx+1:2*nx, 3)
    v(1:nx, ny + 1) = incoming(1:nx, 4)
    p(0, 0) = incoming(1, 5)
  end subroutine exchange_currents

  !> Fills the points around the fluxes, the vorticity and the height that the next step needs.
  subroutine exchange_fluxes(cu, cv, z, h)
    real(real64), intent(inout), dimension(0:nx+1, 0:ny+1) :: cu, cv, z, h
    integer :: ierr

    outgoing(1:ny, 1) = cv(nx, 1:ny)
    outgoing(ny+1:2*ny, 1) = h(nx, 1:ny)
    outgoing(1:ny, 2) = cu(1, 1:ny)
    outgoing(ny+1:2*ny, 2) = z(1, 1:ny)
    outgoing(1:nx, 3) = cu(1:nx, ny)
    outgoing(nx+1:2*nx, 3) = h(1:nx, ny)
    outgoing(1:nx, 4) = cv(1:nx, 1)
    outgoing(nx+1:2*nx, 4) = z(1:nx, 1)
    outgoing(1, 5) = cu(1, ny)
    outgoing(1, 6) = cv(nx, 1)
    call start(1, east, west, 2*ny)
    call start(2, west, east, 2*ny)
    call start(3, north, south, 2*nx)
    call start(4, south, north, 2*nx)
    call start(5, northwest, southeast, 1)
    call start(6, southeast, northwest, 1)
    call MPI_Waitall(12, requests, MPI_STATUSES_IGNORE, ierr)
    cv(0, 1:ny) = incoming(1:ny, 1)
    h(0, 1:ny) = incoming(ny+1:2*ny, 1)
    cu(nx + 1, 1:ny) = incoming(1:ny, 2)
    z(nx + 1, 1:ny) = incoming(ny+1:2*ny, 2)
    cu(1:nx, 0) = incoming(1:nx, 3)
    h(1:nx, 0) = incoming(nx+1:2*nx, 3)
    cv(1:nx, ny + 1) = incoming(1:nx, 4)
    z(1:nx, ny + 1) = incoming(nx+1:2*nx, 4)
    cu(nx + 1, 0) = incoming(1, 5)
    cv(0, ny + 1) = incoming(1, 6)
  end subroutine exchange_fluxes

  !> Starts a message of this length to one neighbour, and one from another.
  subroutine start(side, dest, source, length)
    integer, intent(in) :: side, dest, source, length
    integer :: ierr

    call MPI_Irecv(incoming(1, side), length, MPI_DOUBLE_PRECISION, source, side, grid, &
                   requests(2*side - 1), ierr)
    call MPI_Isend(outgoing(1, side), length, MPI_DOUBLE_PRECISION, dest, side, grid, &
                   requests(2*side), ierr)
  end subroutine start

end module halo


!> Shallow water on a staggered grid (Sadourny 1975), stepped by leaps with a filter in time.  What
!> goes to one neighbour goes in one message.
program swm
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use halo, only: exchange_currents, exchange_fluxes
  use mpi
  use ocean, only: column, columns, deal, grid, nx, ny, row, rows, steps
  use results, only: mix_reals, report
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
    call exchange_currents(u, v, p)
    do j = 1, ny
      do i = 1, nx
        cu(i, j) = 0.5_real64*(p(i, j) + p(i-1, j))*u(i, j)
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        cv(i, j) = 0.5_real64*(p(i, j) + p(i, j-1))*v(i, j)
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        z(i, j) = (4*(v(i, j) - v(i-1, j))/dx - 4*(u(i, j) - u(i, j-1))/dy) &
                 /(p(i-1, j-1) + p(i, j-1) + p(i, j) + p(i-1, j))
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        h(i, j) = p(i, j) + 0.25_real64*(u(i+1, j)*u(i+1, j) + u(i, j)*u(i, j) &
                                          + v(i, j+1)*v(i, j+1) + v(i, j)*v(i, j))
      end do
    end do

    call exchange_fluxes(cu, cv, z, h)
    do j = 1, ny
      do i = 1, nx
        u_new(i, j) = u_old(i, j) - seconds/dx*(h(i, j) - h(i-1, j)) &
                     + seconds/8*(z(i, j+1) + z(i, j)) &
                       *(cv(i, j+1) + cv(i-1, j+1) + cv(i-1, j) + cv(i, j))
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        v_new(i, j) = v_old(i, j) - seconds/dy*(h(i, j) - h(i, j-1)) &
                     - seconds/8*(z(i+1, j) + z(i, j)) &
                       *(cu(i+1, j) + cu(i, j) + cu(i, j-1) + cu(i+1, j-1))
      end do
    end do

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
