!> Planes that are computed one by one and belong, a block of them each, to the ranks.  Prepushed
!> by hand: `tile` planes a message, `depth` tiles in flight, each rank first serving its neighbour.
module driven_planes
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use drives, only: plane_drive
  use results, only: mix_reals, report
  implicit none
  private
  public :: run
  include 'hand.inc'

contains

  !> Computes nz planes of nx times ny points `steps` times, and sends plane k to the rank that
  !> owns it: rank (k-1)/(nz/np).  nz is a multiple of the number of ranks.
  subroutine run(nx, ny, nz, modes, steps, comm)
    integer, intent(in) :: nx, ny, nz, modes, steps, comm
    real(real64), allocatable, asynchronous :: s(:,:,:), r(:,:,:)
    real(real64), allocatable :: across(:,:), along(:,:)
    integer :: requests(3*depth)
    real(real64) :: amplitude, total, began, elapsed
    integer(int64) :: hash, received
    integer :: np, me, own, tiles, planes, t, ahead, posted, turn, peer, first, slot
    integer :: step, i, j, k, m, ierr
    logical :: done

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(s(nx, ny, nz), r(nx, ny, nz), across(modes, nx), along(modes, ny))
    do i = 1, nx
      across(:, i) = [(cos(0.3_real64*m*i), m = 1, modes)]
    end do
    do j = 1, ny
      along(:, j) = [(sin(0.7_real64*m*j), m = 1, modes)]
    end do
    own = nz/np
    tiles = (own + tile - 1)/tile
    requests = MPI_REQUEST_NULL
    turn = 0
    hash = 1
    received = 0
    elapsed = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()

      posted = 0
      do t = 0, np*tiles - 1
        do ahead = posted, min(t + depth, np*tiles) - 1
          peer = modulo(me - 1 - ahead/tiles, np)
          first = mod(ahead, tiles)*tile
          planes = min(tile, own - first)
          slot = 1 + depth + mod(ahead, 2*depth)
          call MPI_Irecv(r(1, 1, 1 + peer*own + first), nx*ny*planes, MPI_DOUBLE_PRECISION, peer, &
                         1, comm, requests(slot), ierr)
        end do
        posted = min(t + depth, np*tiles)

        peer = modulo(me + 1 + t/tiles, np)
        first = mod(t, tiles)*tile
        planes = min(tile, own - first)
        first = 1 + peer*own + first
        do k = first, first + planes - 1
          turn = mod(turn, size(requests)) + 1
          call MPI_Test(requests(turn), done, MPI_STATUS_IGNORE, ierr)
          call plane_drive(k, step, me, amplitude)
          do j = 1, ny
            do i = 1, nx
              total = 0
              do m = 1, modes
                total = total + across(m, i)*along(m, j)
              end do
              s(i, j, k) = amplitude*total
            end do
          end do
        end do

        if (t >= depth) then
          slot = 1 + depth + mod(t - depth, 2*depth)
          call MPI_Wait(requests(slot), MPI_STATUS_IGNORE, ierr)
        end if
        slot = 1 + mod(t, depth)
        call MPI_Wait(requests(slot), MPI_STATUS_IGNORE, ierr)
        call MPI_Isend(s(1, 1, first), nx*ny*planes, MPI_DOUBLE_PRECISION, peer, 1, comm, &
                       requests(slot), ierr)
      end do
      call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE, ierr)

      elapsed = elapsed + (MPI_Wtime() - began)
      call mix_reals(size(r), r, hash)
      received = received + size(r)
    end do

    call report('plane_slab', comm, hash, received, elapsed)
    deallocate(s, r, across, along)
  end subroutine run

end module driven_planes


program plane_slab
  use mpi
  use driven_planes, only: run
  implicit none
  include 'sizes.inc'
  integer :: ierr

  call MPI_Init(ierr)
  call run(nx, ny, nz, modes, steps, MPI_COMM_WORLD)
  call MPI_Finalize(ierr)
end program plane_slab
