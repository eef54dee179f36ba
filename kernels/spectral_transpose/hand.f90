!> How the grid is cut: planes of z before the exchange, slices of x after it.
module grid
  implicit none
  public
  include 'sizes.inc'
  integer, save :: np = 1, nz = nzl, nxb = nx

contains

  !> Cuts the grid for `ranks` ranks.
  subroutine cut_grid(ranks)
    integer, intent(in) :: ranks

    np = ranks
    nz = nzl*ranks
    nxb = nx/ranks
  end subroutine cut_grid

end module grid


!> A three-dimensional Fourier transform, two dimensions before the exchange and one after it.
!> Prepushed by hand: `tile` planes a message, `depth` tiles in flight.
module spectral
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use fourier, only: fft_lines, fft_plane
  use grid, only: after, np, nx, nxb, ny, nz, nzl
  implicit none
  private
  public :: forward
  include 'hand.inc'

contains

  !> Transforms the planes field(nx, ny, nzl) of this rank into lines(nz, ny, nxb), whose first
  !> dimension is the whole of z.  No other messages may be under way in `comm`.
  subroutine forward(comm, field, sbuf, rbuf, lines)
    integer, intent(in) :: comm
    complex(real64), intent(inout) :: field(nx, ny, nzl)
    complex(real64), intent(out), asynchronous :: sbuf(nxb, ny, nzl, np), rbuf(nxb, ny, nzl, np)
    complex(real64), intent(out) :: lines(nz, ny, nxb)
    integer :: requests(3*np*depth)
    integer :: i, j, k, p, t, tiles, turn, posted, ahead, slot, first, planes, peer, me, ierr
    logical :: done

    call MPI_Comm_rank(comm, me, ierr)
    requests = MPI_REQUEST_NULL
    tiles = (nzl + tile - 1)/tile
    posted = 0
    turn = 0
    do t = 0, tiles - 1
      do ahead = posted, min(t + depth, tiles) - 1
        slot = np*(depth + mod(ahead, 2*depth))
        first = 1 + ahead*tile
        planes = min(tile, nzl - ahead*tile)
        do p = 1, np
          peer = modulo(me - p, np)
          call MPI_Irecv(rbuf(1, 1, first, peer + 1), nxb*ny*planes, MPI_DOUBLE_COMPLEX, peer, 1, &
                         comm, requests(slot + p), ierr)
        end do
      end do
      posted = min(t + depth, tiles)

      first = 1 + t*tile
      planes = min(tile, nzl - t*tile)
      do k = first, first + planes - 1
        turn = mod(turn, size(requests)) + 1
        call MPI_Test(requests(turn), done, MPI_STATUS_IGNORE, ierr)
        call fft_plane(nx, ny, field(1, 1, k))
        do p = 1, np
          do j = 1, ny
            do i = 1, nxb
              sbuf(i, j, k, p) = field(i + (p - 1)*nxb, j, k)
            end do
          end do
        end do
      end do

      if (t >= depth) then
        slot = np*(depth + mod(t - depth, 2*depth))
        call MPI_Waitall(np, requests(slot + 1:slot + np), MPI_STATUSES_IGNORE, ierr)
      end if
      slot = np*mod(t, depth)
      call MPI_Waitall(np, requests(slot + 1:slot + np), MPI_STATUSES_IGNORE, ierr)
      do p = 1, np
        peer = modulo(me + p, np)
        call MPI_Isend(sbuf(1, 1, first, peer + 1), nxb*ny*planes, MPI_DOUBLE_COMPLEX, peer, 1, &
                       comm, requests(slot + p), ierr)
      end do
    end do
    call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE, ierr)

    do p = 1, np
      do k = 1, nzl
        do j = 1, ny
          do i = 1, nxb
            lines(k + (p - 1)*nzl, j, i) = rbuf(i, j, k, p)
          end do
        end do
      end do
    end do
    if (after > 0) then
      do i = 1, nxb
        call fft_lines(nz, ny, lines(1, 1, i))
      end do
    end if
  end subroutine forward

end module spectral


program spectral_transpose
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use grid, only: cut_grid, nx, nxb, ny, nz, nzl, steps
  use results, only: mix_complex, report
  use spectral, only: forward
  implicit none
  complex(real64), allocatable :: field(:,:,:), sbuf(:,:,:,:), rbuf(:,:,:,:), lines(:,:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: np, me, ierr, step

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call cut_grid(np)
  allocate(field(nx, ny, nzl), lines(nz, ny, nxb))
  allocate(sbuf(nxb, ny, nzl, np), rbuf(nxb, ny, nzl, np))
  hash = 1
  received = 0
  elapsed = 0

  do step = 1, steps
    call fill(step, me, field)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()
    call forward(MPI_COMM_WORLD, field, sbuf, rbuf, lines)
    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_complex(size(rbuf), rbuf, hash)
    call mix_complex(size(lines), lines, hash)
    received = received + size(rbuf)
  end do

  call report('spectral_transpose', MPI_COMM_WORLD, hash, received, elapsed)
  deallocate(field, sbuf, rbuf, lines)
  call MPI_Finalize(ierr)

contains

  !> The field at the beginning of time step `step` on rank `me`.
  subroutine fill(step, me, field)
    integer, intent(in) :: step, me
    complex(real64), intent(out) :: field(:,:,:)
    integer :: i, j, k

    do k = 1, size(field, 3)
      do j = 1, size(field, 2)
        do i = 1, size(field, 1)
          field(i, j, k) = cmplx(mod(i*j + 3*k + 5*step, 17), mod(i + j*k + 7*me, 19), real64)
        end do
      end do
    end do
  end subroutine fill

end program spectral_transpose
