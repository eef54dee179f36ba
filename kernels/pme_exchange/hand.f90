!> How a grid of charges is dealt: slabs of z before the exchange, slabs of y after it, not all of
!> the same thickness.
module slabs
  implicit none
  public
  include 'sizes.inc'
  integer, save :: ranks = 1, me = 0
  integer, allocatable, save :: y_first(:), y_count(:), z_first(:), z_count(:)

contains

  !> Deals the grid to `count` ranks, of which this one is number `rank`.
  subroutine deal_slabs(count, rank)
    integer, intent(in) :: count, rank

    ranks = count
    me = rank
    allocate(y_first(0:count-1), y_count(0:count-1), z_first(0:count-1), z_count(0:count-1))
    call deal(ny, y_first, y_count)
    call deal(nz, z_first, z_count)
  end subroutine deal_slabs

  !> Deals `n` planes: `counts` of each rank, and those before it.  The last ranks may have fewer, or
  !> none.
  subroutine deal(n, first, counts)
    integer, intent(in) :: n
    integer, intent(out) :: first(0:), counts(0:)
    integer :: p, most

    most = (n + ranks - 1)/ranks
    do p = 0, ranks - 1
      first(p) = min(n, p*most)
      counts(p) = min(n, (p + 1)*most) - first(p)
    end do
  end subroutine deal

end module slabs


!> The transform of the charges: two dimensions before the exchange, one after it.
!> Pipelined by hand: `tile` planes a message, `depth` tiles in flight; each rank knows the slabs of
!> all, so that it can post the receives of all tiles first.
module particle_mesh
  use, intrinsic :: iso_fortran_env, only: real64
  use fourier, only: fft_lines, fft_plane
  use mpi
  use slabs, only: me, nx, ny, nz, ranks, y_count, y_first, z_count, z_first
  implicit none
  private
  public :: forward
  include 'hand.inc'

contains

  !> Transforms the planes `charges` of this rank in place and exchanges them: `lines` then holds the
  !> transform of this rank's slab of y, z first.  sbuf and rbuf are room for one copy.  No other
  !> messages may be under way in `comm`.
  subroutine forward(comm, charges, sbuf, rbuf, lines)
    integer, intent(in) :: comm
    complex(real64), intent(inout) :: charges(nx, ny, z_count(me))
    complex(real64), intent(out), asynchronous :: sbuf(nx*ny*z_count(me)), rbuf(nx*y_count(me)*nz)
    complex(real64), intent(out) :: lines(nz, nx, y_count(me))
    integer, allocatable :: sends(:), receives(:)
    integer :: i, j, k, p, at, first, last, slot, turn, posted, looked_at, ierr
    logical :: done

    allocate(sends(ranks*depth), receives(1 + sum((z_count + tile - 1)/tile)))
    sends = MPI_REQUEST_NULL
    receives = MPI_REQUEST_NULL
    posted = 0
    do first = 1, maxval(z_count), tile
      do turn = 1, ranks - 1
        p = modulo(me - turn, ranks)
        if (y_count(me) == 0 .or. first > z_count(p)) cycle
        last = min(first + tile - 1, z_count(p))
        posted = posted + 1
        call MPI_Irecv(rbuf(1 + nx*y_count(me)*(z_first(p) + first - 1)), &
                       nx*y_count(me)*(last - first + 1), MPI_DOUBLE_COMPLEX, p, 7, comm, &
                       receives(posted), ierr)
      end do
    end do

    looked_at = 0
    slot = 0
    do first = 1, z_count(me), tile
      last = min(first + tile - 1, z_count(me))
      do k = first, last
        looked_at = mod(looked_at, size(receives)) + 1
        call MPI_Test(receives(looked_at), done, MPI_STATUS_IGNORE, ierr)
        call fft_plane(nx, ny, charges(1, 1, k))
        do p = 0, ranks - 1
          at = nx*(y_first(p)*z_count(me) + y_count(p)*(k - 1))
          do j = 1, y_count(p)
            do i = 1, nx
              at = at + 1
              sbuf(at) = charges(i, y_first(p) + j, k)
            end do
          end do
        end do
      end do
      call MPI_Waitall(ranks, sends(slot + 1:slot + ranks), MPI_STATUSES_IGNORE, ierr)
      do turn = 1, ranks - 1
        p = modulo(me + turn, ranks)
        if (y_count(p) == 0) cycle
        call MPI_Isend(sbuf(1 + nx*(y_first(p)*z_count(me) + y_count(p)*(first - 1))), &
                       nx*y_count(p)*(last - first + 1), MPI_DOUBLE_COMPLEX, p, 7, comm, &
                       sends(slot + turn), ierr)
      end do
      slot = mod(slot + ranks, ranks*depth)
    end do
    do i = 1, nx*y_count(me)*z_count(me)
      rbuf(nx*y_count(me)*z_first(me) + i) = sbuf(nx*y_first(me)*z_count(me) + i)
    end do
    call MPI_Waitall(size(receives), receives, MPI_STATUSES_IGNORE, ierr)
    call MPI_Waitall(size(sends), sends, MPI_STATUSES_IGNORE, ierr)

    at = 0
    do p = 0, ranks - 1
      do k = 1, z_count(p)
        do j = 1, y_count(me)
          do i = 1, nx
            at = at + 1
            lines(z_first(p) + k, i, j) = rbuf(at)
          end do
        end do
      end do
    end do
    do j = 1, y_count(me)
      call fft_lines(nz, nx, lines(1, 1, j))
    end do
  end subroutine forward

end module particle_mesh


program pme_exchange
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use particle_mesh, only: forward
  use results, only: mix_complex, report
  use slabs, only: deal_slabs, nx, ny, nz, steps, y_count, z_count, z_first
  implicit none
  complex(real64), allocatable :: charges(:,:,:), sbuf(:), rbuf(:), lines(:,:,:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: np, me, ierr, step, i, j, k

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call deal_slabs(np, me)
  allocate(charges(nx, ny, z_count(me)), sbuf(nx*ny*z_count(me)))
  allocate(lines(nz, nx, y_count(me)), rbuf(nx*y_count(me)*nz))
  hash = 1
  received = 0
  elapsed = 0

  do step = 1, steps
    do k = 1, z_count(me)
      do j = 1, ny
        do i = 1, nx
          charges(i, j, k) = cmplx(mod(i*j + 3*(z_first(me) + k) + step, 13), mod(i + k, 7), real64)
        end do
      end do
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()
    call forward(MPI_COMM_WORLD, charges, sbuf, rbuf, lines)
    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_complex(size(lines), lines, hash)
    received = received + size(rbuf)
  end do

  call report('pme_exchange', MPI_COMM_WORLD, hash, received, elapsed)
  deallocate(charges, sbuf, rbuf, lines)
  call MPI_Finalize(ierr)
end program pme_exchange
