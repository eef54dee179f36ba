!> A grid of charges, dealt to the ranks in slabs of different thickness: first by x, then by z.
!> Prepushed by hand: `tile` planes a message, `depth` of them in flight; every rank knows the slabs
!> of all, so that it can post its receives plane by plane, too.
module charge_grid
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use results, only: mix_reals, report
  use smoothing, only: smooth_plane
  implicit none
  private
  public :: run
  include 'hand.inc'

contains

  !> How `n` planes are dealt: `thickness` of the slab of each rank, and the planes `before` it.
  !> All slabs are equally thick, but for the last ones, which may be thinner or empty.
  subroutine deal(n, np, thickness, before)
    integer, intent(in) :: n, np
    integer, intent(out) :: thickness(0:np-1), before(0:np-1)
    integer :: p, most

    most = (n + np - 1)/np
    do p = 0, np - 1
      before(p) = min(n, p*most)
      thickness(p) = min(n, (p + 1)*most) - before(p)
    end do
  end subroutine deal

  !> Smooths the grid of nx by ny by nz points along y `steps` times, on slabs of x, and gathers it
  !> in slabs of z.
  subroutine run(nx, ny, nz, steps, comm)
    integer, intent(in) :: nx, ny, nz, steps, comm
    real(real64), allocatable, asynchronous :: s(:,:,:), r(:)
    integer, allocatable :: by_x(:), first_x(:), by_z(:), first_z(:)
    integer, allocatable :: requests(:)
    real(real64) :: began, elapsed
    integer(int64) :: hash, received
    integer :: np, me, lx, lz, step, i, j, k, ierr
    integer :: turn, peer, first, planes, slot, sent, looked_at
    logical :: done

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(by_x(0:np-1), first_x(0:np-1), by_z(0:np-1), first_z(0:np-1))
    call deal(nx, np, by_x, first_x)
    call deal(nz, np, by_z, first_z)
    lx = by_x(me)
    lz = by_z(me)
    allocate(s(lx, ny, nz), r(nx*ny*lz))
    allocate(requests(depth + np*((lz + tile - 1)/tile)), source=MPI_REQUEST_NULL)
    hash = 1
    received = 0
    elapsed = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()

      slot = depth
      do turn = 1, np
        peer = modulo(me - turn, np)
        do first = 0, lz - 1, tile
          planes = min(tile, lz - first)
          slot = slot + 1
          call MPI_Irecv(r(1 + ny*(first_x(peer)*lz + by_x(peer)*first)), by_x(peer)*ny*planes, &
                         MPI_DOUBLE_PRECISION, peer, 1, comm, requests(slot), ierr)
        end do
      end do

      sent = 0
      looked_at = 0
      do turn = 1, np
        peer = modulo(me + turn, np)
        do first = first_z(peer) + 1, first_z(peer) + by_z(peer), tile
          planes = min(tile, first_z(peer) + by_z(peer) - first + 1)
          do k = first, first + planes - 1
            looked_at = mod(looked_at, size(requests)) + 1
            call MPI_Test(requests(looked_at), done, MPI_STATUS_IGNORE, ierr)
            do j = 1, ny
              do i = 1, lx
                s(i, j, k) = mod(7*(first_x(me) + i) + 5*j + 3*k + step, 11)/11.0_real64
              end do
            end do
            call smooth_plane(lx, ny, s(:, :, k))
          end do
          slot = 1 + mod(sent, depth)
          call MPI_Wait(requests(slot), MPI_STATUS_IGNORE, ierr)
          call MPI_Isend(s(:, :, first:first+planes-1), lx*ny*planes, MPI_DOUBLE_PRECISION, &
                         peer, 1, comm, requests(slot), ierr)
          sent = sent + 1
        end do
      end do
      call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE, ierr)

      elapsed = elapsed + (MPI_Wtime() - began)
      call mix_reals(size(r), r, hash)
      received = received + size(r)
    end do

    call report('uneven_slabs', comm, hash, received, elapsed)
    deallocate(s, r, requests)
  end subroutine run

end module charge_grid


program uneven_slabs
  use mpi
  use charge_grid, only: run
  implicit none
  include 'sizes.inc'
  integer :: ierr

  call MPI_Init(ierr)
  call run(nx, ny, nz, steps, MPI_COMM_WORLD)
  call MPI_Finalize(ierr)
end program uneven_slabs
