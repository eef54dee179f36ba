!> The part of the sea that a rank has, and who has what is around it.
module sea
  use mpi
  implicit none
  public
  include 'sizes.inc'
  integer, save :: grid, west, east, south, north

contains

  !> Deals the sea to the ranks of `comm`: as square as their number allows, not periodic.
  subroutine cut_sea(comm)
    integer, intent(in) :: comm
    integer :: np, ierr
    integer :: dims(2)

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 2, dims, ierr)
    call MPI_Cart_create(comm, 2, dims, [.false., .false.], .false., grid, ierr)
    call MPI_Cart_shift(grid, 0, 1, west, east, ierr)
    call MPI_Cart_shift(grid, 1, 1, south, north, ierr)
  end subroutine cut_sea

end module sea


!> Exchanges what neighbours need of each other: one message for each neighbour.
module halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use sea, only: east, grid, north, nx, ny, south, west
  implicit none
  private
  public :: exchange
  real(real64), asynchronous, save :: to_west(3*ny), to_east(3*ny), to_south(3*nx), to_north(3*nx)
  real(real64), asynchronous, save :: from_west(3*ny), from_east(3*ny), from_south(3*nx)
  real(real64), asynchronous, save :: from_north(3*nx)

contains

  !> Fills the points around three fields with the neighbours' outermost ones; at the coast the
  !> points stay as they are.
  subroutine exchange(u, v, h)
    real(real64), intent(inout), dimension(0:nx+1, 0:ny+1) :: u, v, h
    integer :: requests(8), ierr

    call MPI_Irecv(from_south, 3*nx, MPI_DOUBLE_PRECISION, south, 1, grid, requests(1), ierr)
    call MPI_Irecv(from_north, 3*nx, MPI_DOUBLE_PRECISION, north, 2, grid, requests(2), ierr)
    call MPI_Irecv(from_west, 3*ny, MPI_DOUBLE_PRECISION, west, 3, grid, requests(3), ierr)
    call MPI_Irecv(from_east, 3*ny, MPI_DOUBLE_PRECISION, east, 4, grid, requests(4), ierr)
    to_north(1:nx) = u(1:nx, ny)
    to_north(nx+1:2*nx) = v(1:nx, ny)
    to_north(2*nx+1:3*nx) = h(1:nx, ny)
    call MPI_Isend(to_north, 3*nx, MPI_DOUBLE_PRECISION, north, 1, grid, requests(5), ierr)
    to_south(1:nx) = u(1:nx, 1)
    to_south(nx+1:2*nx) = v(1:nx, 1)
    to_south(2*nx+1:3*nx) = h(1:nx, 1)
    call MPI_Isend(to_south, 3*nx, MPI_DOUBLE_PRECISION, south, 2, grid, requests(6), ierr)
    to_east(1:ny) = u(nx, 1:ny)
    to_east(ny+1:2*ny) = v(nx, 1:ny)
    to_east(2*ny+1:3*ny) = h(nx, 1:ny)
    call MPI_Isend(to_east, 3*ny, MPI_DOUBLE_PRECISION, east, 3, grid, requests(7), ierr)
    to_west(1:ny) = u(1, 1:ny)
    to_west(ny+1:2*ny) = v(1, 1:ny)
    to_west(2*ny+1:3*ny) = h(1, 1:ny)
    call MPI_Isend(to_west, 3*ny, MPI_DOUBLE_PRECISION, west, 4, grid, requests(8), ierr)
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierr)
    if (south /= MPI_PROC_NULL) call unpack_row(from_south, 0)
    if (north /= MPI_PROC_NULL) call unpack_row(from_north, ny + 1)
    if (west /= MPI_PROC_NULL) call unpack_column(from_west, 0)
    if (east /= MPI_PROC_NULL) call unpack_column(from_east, nx + 1)

  contains

    !> A row of each field.
    subroutine unpack_row(from, j)
      real(real64), intent(in) :: from(nx, 3)
      integer, intent(in) :: j

      u(1:nx, j) = from(:, 1)
      v(1:nx, j) = from(:, 2)
      h(1:nx, j) = from(:, 3)
    end subroutine unpack_row

    !> A column of each field.
    subroutine unpack_column(from, i)
      real(real64), intent(in) :: from(ny, 3)
      integer, intent(in) :: i

      u(i, 1:ny) = from(:, 1)
      v(i, 1:ny) = from(:, 2)
      h(i, 1:ny) = from(:, 3)
    end subroutine unpack_column

  end subroutine exchange

end module halo


!> Waves on a shallow sea that is dealt to the ranks in two dimensions.  What nothing has changed is
!> not exchanged again.
program fields
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use halo, only: exchange
  use mpi
  use results, only: mix_reals, report
  use sea, only: cut_sea, grid, nx, ny, steps
  use shallow_water, only: faster, higher, smoother
  implicit none
  real(real64), allocatable :: u(:,:), v(:,:), h(:,:), du(:,:), dv(:,:), dh(:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: me, ierr, step, i, j

  call MPI_Init(ierr)
  call cut_sea(MPI_COMM_WORLD)
  call MPI_Comm_rank(grid, me, ierr)
  allocate(u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1), h(0:nx+1, 0:ny+1))
  allocate(du(nx, ny), dv(nx, ny), dh(nx, ny))
  do j = 0, ny + 1
    do i = 0, nx + 1
      u(i, j) = mod(5*i + 2*j + 3*me, 19)/19.0_real64 - 0.5_real64
      v(i, j) = mod(3*i + 7*j + 2*me, 17)/17.0_real64 - 0.5_real64
      h(i, j) = mod(7*i + 3*j + 5*me, 23)/23.0_real64
    end do
  end do
  hash = 1
  received = 0

  call MPI_Barrier(grid, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call exchange(u, v, h)
    do j = 1, ny
      do i = 1, nx
        du(i, j) = faster(u(i, j), u(i-1, j), u(i+1, j), h(i-1, j), h(i+1, j))
        dv(i, j) = faster(v(i, j), v(i, j-1), v(i, j+1), h(i, j-1), h(i, j+1))
        dh(i, j) = higher(u(i-1, j), u(i+1, j), v(i, j-1), v(i, j+1))
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        dh(i, j) = dh(i, j) + smoother(h(i, j), h(i-1, j), h(i+1, j), h(i, j-1), h(i, j+1))
      end do
    end do

    do j = 1, ny
      do i = 1, nx
        u(i, j) = u(i, j) + du(i, j)
        v(i, j) = v(i, j) + dv(i, j)
        h(i, j) = h(i, j) + dh(i, j)
      end do
    end do
  end do
  elapsed = MPI_Wtime() - began

  call mix_reals(size(u), u, hash)
  call mix_reals(size(v), v, hash)
  call mix_reals(size(h), h, hash)
  received = received + steps*8*(nx + ny)
  call report('fields', grid, hash, received, elapsed)
  deallocate(u, v, h, du, dv, dh)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)
end program fields
