!> The part of a plate that a rank has, and who has what is around it.
module plate
  use mpi
  implicit none
  public
  include 'sizes.inc'
  integer, save :: grid, west, east, south, north

contains

  !> Deals the plate to the ranks of `comm`: as square as their number allows, not periodic.
  subroutine cut_plate(comm)
    integer, intent(in) :: comm
    integer :: np, ierr
    integer :: dims(2)

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 2, dims, ierr)
    call MPI_Cart_create(comm, 2, dims, [.false., .false.], .false., grid, ierr)
    call MPI_Cart_shift(grid, 0, 1, west, east, ierr)
    call MPI_Cart_shift(grid, 1, 1, south, north, ierr)
  end subroutine cut_plate

end module plate


!> Exchanges what neighbours need of each other: between start and finish the inner cells of u may
!> be read.
module halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use plate, only: east, grid, north, nx, ny, south, west
  implicit none
  private
  public :: finish_exchange, start_exchange
  real(real64), asynchronous, save :: to_west(ny), to_east(ny), from_west(ny), from_east(ny)
  integer, save :: requests(8)

contains

  !> Starts to fill the cells around u.
  subroutine start_exchange(u)
    real(real64), intent(inout), asynchronous :: u(0:nx+1, 0:ny+1)
    integer :: j, ierr

    call MPI_Irecv(u(1, 0), nx, MPI_DOUBLE_PRECISION, south, 1, grid, requests(1), ierr)
    call MPI_Irecv(u(1, ny + 1), nx, MPI_DOUBLE_PRECISION, north, 2, grid, requests(2), ierr)
    call MPI_Irecv(from_west, ny, MPI_DOUBLE_PRECISION, west, 3, grid, requests(3), ierr)
    call MPI_Irecv(from_east, ny, MPI_DOUBLE_PRECISION, east, 4, grid, requests(4), ierr)
    call MPI_Isend(u(1, ny), nx, MPI_DOUBLE_PRECISION, north, 1, grid, requests(5), ierr)
    call MPI_Isend(u(1, 1), nx, MPI_DOUBLE_PRECISION, south, 2, grid, requests(6), ierr)
    do j = 1, ny
      to_east(j) = u(nx, j)
    end do
    call MPI_Isend(to_east, ny, MPI_DOUBLE_PRECISION, east, 3, grid, requests(7), ierr)
    do j = 1, ny
      to_west(j) = u(1, j)
    end do
    call MPI_Isend(to_west, ny, MPI_DOUBLE_PRECISION, west, 4, grid, requests(8), ierr)
  end subroutine start_exchange

  !> Waits until the cells around u are filled, and those inside may change again.
  subroutine finish_exchange(u)
    real(real64), intent(inout), asynchronous :: u(0:nx+1, 0:ny+1)
    integer :: j, ierr

    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierr)
    if (west /= MPI_PROC_NULL) then
      do j = 1, ny
        u(0, j) = from_west(j)
      end do
    end if
    if (east /= MPI_PROC_NULL) then
      do j = 1, ny
        u(nx + 1, j) = from_east(j)
      end do
    end if
  end subroutine finish_exchange

end module halo


!> Heat spreads on a plate that is dealt to the ranks in two dimensions.  Overlapped by hand: the
!> inner cells first, the outermost ones when all around them is there.
program halo_2d
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use conduction, only: gain
  use halo, only: finish_exchange, start_exchange
  use mpi
  use plate, only: cut_plate, grid, nx, ny, steps
  use results, only: mix_reals, report
  implicit none
  real(real64), allocatable, asynchronous :: u(:,:)
  real(real64), allocatable :: after(:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: me, ierr, step, i, j

  call MPI_Init(ierr)
  call cut_plate(MPI_COMM_WORLD)
  call MPI_Comm_rank(grid, me, ierr)
  allocate(u(0:nx+1, 0:ny+1), after(nx, ny))
  do j = 0, ny + 1
    do i = 0, nx + 1
      u(i, j) = mod(7*i + 3*j + 5*me, 23)/23.0_real64
    end do
  end do
  hash = 1
  received = 0

  call MPI_Barrier(grid, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call start_exchange(u)
    call update(2, nx - 1, 2, ny - 1)
    call finish_exchange(u)
    call update(1, nx, 1, 1)
    call update(1, 1, 2, ny - 1)
    call update(nx, nx, 2, ny - 1)
    call update(1, nx, ny, ny)
    do j = 1, ny
      do i = 1, nx
        u(i, j) = after(i, j)
      end do
    end do
  end do
  elapsed = MPI_Wtime() - began

  call mix_reals(size(u), u, hash)
  received = received + steps*2*(nx + ny)
  call report('halo_2d', grid, hash, received, elapsed)
  deallocate(u, after)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)

contains

  !> The new temperatures of the cells from i1, j1 to i2, j2.
  subroutine update(i1, i2, j1, j2)
    integer, intent(in) :: i1, i2, j1, j2
    integer :: i, j

    do j = j1, j2
      do i = i1, i2
        after(i, j) = u(i, j) + gain(u(i, j), u(i-1, j), u(i+1, j), u(i, j-1), u(i, j+1))
      end do
    end do
  end subroutine update

end program halo_2d
