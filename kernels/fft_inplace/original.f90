!> How the grid is dealt: planes of z before the exchange, slices of x after it.
module decomposition
  implicit none
  public
  include 'sizes.inc'
  integer, save :: ranks = 1, nz = nzl, nxl = nx

contains

  !> Deals the grid to `count` ranks.
  subroutine deal(count)
    integer, intent(in) :: count

    ranks = count
    nz = nzl*count
    nxl = nx/count
  end subroutine deal

end module decomposition


!> A three-dimensional Fourier transform that works in place: what is received takes the place of
!> the planes that were packed.
module transform_in_place
  use, intrinsic :: iso_fortran_env, only: real64
  use decomposition, only: after, nx, nxl, ny, nz, nzl, ranks
  use fourier, only: fft_lines, fft_plane
  use mpi
  implicit none
  private
  public :: forward

contains

  !> Transforms the planes xin(nx, ny, nzl) of this rank and exchanges them: xin then holds, as
  !> blocks of (ny, nxl, nzl), what the other ranks have of its slices, and lines(nz, ny, nxl) the
  !> transform.  xout is room for one copy.
  subroutine forward(comm, xin, xout, lines)
    integer, intent(in) :: comm
    complex(real64), intent(inout) :: xin(nx, ny, nzl)
    complex(real64), intent(out) :: xout(ny, nxl, nzl, ranks)
    complex(real64), intent(out) :: lines(nz, ny, nxl)
    complex(real64) :: column(ny)
    integer :: i, j, k, p, length, ierr

    do k = 1, nzl
      call fft_plane(nx, ny, xin(1, 1, k))
    end do

    ! y and x change places, one column after the other
    do p = 1, ranks
      do k = 1, nzl
        do i = 1, nxl
          do j = 1, ny
            column(j) = xin(i + (p - 1)*nxl, j, k)
          end do
          do j = 1, ny
            xout(j, i, k, p) = column(j)
          end do
        end do
      end do
    end do

    length = ny*nxl*nzl
    call MPI_Alltoall(xout, length, MPI_DOUBLE_COMPLEX, xin, length, MPI_DOUBLE_COMPLEX, comm, ierr)
    call finish(xin, lines)
  end subroutine forward

  !> Gathers what was received to lines of z, and transforms them.
  subroutine finish(blocks, lines)
    complex(real64), intent(in) :: blocks(ny, nxl, nzl, ranks)
    complex(real64), intent(out) :: lines(nz, ny, nxl)
    integer :: i, j, k, p

    do i = 1, nxl
      do p = 1, ranks
        do k = 1, nzl
          do j = 1, ny
            lines(k + (p - 1)*nzl, j, i) = blocks(j, i, k, p)
          end do
        end do
      end do
      if (after > 0) call fft_lines(nz, ny, lines(1, 1, i))
    end do
  end subroutine finish

end module transform_in_place


program fft_inplace
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use decomposition, only: deal, nx, nxl, ny, nz, nzl, steps
  use mpi
  use results, only: mix_complex, report
  use transform_in_place, only: forward
  implicit none
  complex(real64), allocatable :: xin(:,:,:), xout(:,:,:), lines(:,:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: np, me, ierr, step

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call deal(np)
  allocate(xin(nx, ny, nzl), xout(nx, ny, nzl), lines(nz, ny, nxl))
  hash = 1
  received = 0
  elapsed = 0
  xin = 0

  do step = 1, steps
    call stir(step, me, xin)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()
    call forward(MPI_COMM_WORLD, xin, xout, lines)
    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_complex(size(xin), xin, hash)
    call mix_complex(size(lines), lines, hash)
    received = received + nxl*np*ny*nzl
  end do

  call report('fft_inplace', MPI_COMM_WORLD, hash, received, elapsed)
  deallocate(xin, xout, lines)
  call MPI_Finalize(ierr)

contains

  !> Adds to what the step before has left.
  subroutine stir(step, me, x)
    integer, intent(in) :: step, me
    complex(real64), intent(inout) :: x(:,:,:)
    integer :: i, j, k

    do k = 1, size(x, 3)
      do j = 1, size(x, 2)
        do i = 1, size(x, 1)
          x(i, j, k) = x(i, j, k)/1024 &
                       + cmplx(mod(i*j + 3*k + 5*step, 17), mod(i + j*k + 7*me, 19), real64)
        end do
      end do
    end do
  end subroutine stir

end program fft_inplace
