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


!> Exchanges what neighbours need of each other.
module halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use plate, only: east, grid, north, nx, ny, south, west
  implicit none
  private
  public :: exchange

contains

  !> Fills the cells around u with the neighbours' outermost ones.  Rows arrive in place, columns
  !> in a buffer; at the rim of the plate the cells stay as they are.
  subroutine exchange(u)
    real(real64), intent(inout) :: u(0:nx+1, 0:ny+1)
    real(real64) :: outgoing(ny), incoming(ny)
    integer :: status(MPI_STATUS_SIZE), j, ierr

    call MPI_Sendrecv(u(1, ny), nx, MPI_DOUBLE_PRECISION, north, 1, &
                      u(1, 0), nx, MPI_DOUBLE_PRECISION, south, 1, grid, status, ierr)
    call MPI_Sendrecv(u(1, 1), nx, MPI_DOUBLE_PRECISION, south, 2, &
                      u(1, ny + 1), nx, MPI_DOUBLE_PRECISION, north, 2, grid, status, ierr)

    do j = 1, ny
      outgoing(j) = u(nx, j)
    end do
    call MPI_Sendrecv(outgoing, ny, MPI_DOUBLE_PRECISION, east, 3, &
                      incoming, ny, MPI_DOUBLE_PRECISION, west, 3, grid, status, ierr)
    if (west /= MPI_PROC_NULL) then
      do j = 1, ny
        u(0, j) = incoming(j)
      end do
    end if

    do j = 1, ny
      outgoing(j) = u(1, j)
    end do
    call MPI_Sendrecv(outgoing, ny, MPI_DOUBLE_PRECISION, west, 4, &
                      incoming, ny, MPI_DOUBLE_PRECISION, east, 4, grid, status, ierr)
    if (east /= MPI_PROC_NULL) then
      do j = 1, ny
        u(nx + 1, j) = incoming(j)
      end do
    end if
  end subroutine exchange

end module halo


!> Heat spreads on a plate that is dealt to the ranks in two dimensions.
program halo_2d
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use conduction, only: gain
  use halo, only: exchange
  use mpi
  use plate, only: cut_plate, grid, nx, ny, steps
  use results, only: mix_reals, report
  implicit none
  real(real64), allocatable :: u(:,:), after(:,:)
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
    call exchange(u)
    do j = 1, ny
      do i = 1, nx
        after(i, j) = u(i, j) + gain(u(i, j), u(i-1, j), u(i+1, j), u(i, j-1), u(i, j+1))
      end do
    end do
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
end program halo_2d
