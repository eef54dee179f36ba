!> Planes of irregular work; each tile of planes is on its way to all ranks while the next ones
!> are computed.  Prepushed by hand: `tile` planes a message, `depth` tiles in flight.
program synthetic_fig3
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use results, only: mix_reals, report
  use seeds, only: seed_plane
  implicit none
  include 'sizes.inc'
  include 'hand.inc'
  real(real64), parameter :: pi = 4*atan(1.0_real64)
  real(real64), allocatable, asynchronous :: s(:,:,:), r(:,:,:)
  real(real64), allocatable :: aux(:)
  integer, allocatable :: requests(:)
  real(real64) :: near, far, both, began, elapsed
  integer(int64) :: hash, received
  integer :: world, np, me, ierr, step, tiles, t, ahead, posted, turn
  integer :: z, p, i, j, k, l, start, round
  logical :: done

  call MPI_Init(ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, world, ierr)
  call MPI_Comm_size(world, np, ierr)
  call MPI_Comm_rank(world, me, ierr)
  ! depth slots of np sends, then 2*depth slots of np receives
  allocate(s(n, nz, np), r(n, nz, np), aux(na), requests(3*np*depth))
  requests = MPI_REQUEST_NULL
  hash = 1
  received = 0
  elapsed = 0
  tiles = ceiling(real(nz)/tile)
  turn = 0

  do step = 1, steps
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()

    posted = 0
    do t = 0, tiles - 1
      do ahead = posted, min(t + depth, tiles) - 1
        call post_receives(ahead)
      end do
      posted = min(t + depth, tiles)

      do z = 1 + t*tile, min((t + 1)*tile, nz)
        turn = mod(turn, size(requests)) + 1
        call MPI_Test(requests(turn), done, MPI_STATUS_IGNORE, ierr)
        call seed_plane(na, z, step, me, aux)
        start = 1
        do i = 1, na
          start = (start + na)/2
          do round = 1, rounds
            do j = start, na
              k = start + mod(j + 1, na - start + 1)
              l = start + mod(j + na/2, na - start + 1)
              near = cos((aux(k) + aux(start))/2)
              far = cos((aux(l) + aux(start) - aux(1))/3)
              both = cos((near + far)*pi)
              aux(j) = (aux(i) + aux(j) + (near - far)/(both + 2))/2
            end do
          end do
        end do
        do p = 1, np
          do i = 1, n
            s(i, z, p) = aux(1 + mod(i*p, na)) + p
          end do
        end do
      end do

      if (t >= depth) call wait_slot(depth + mod(t - depth, 2*depth))
      call wait_slot(mod(t, depth))
      call send_planes(t)
    end do
    call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE, ierr)

    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_reals(size(r), r, hash)
    received = received + size(r)
  end do

  call report('synthetic_fig3', MPI_COMM_WORLD, hash, received, elapsed)
  deallocate(s, r, aux, requests)
  call MPI_Comm_free(world, ierr)
  call MPI_Finalize(ierr)

contains

  !> Receives tile `t` of every rank into its final place.
  subroutine post_receives(t)
    integer, intent(in) :: t
    integer :: slot, step, peer

    slot = np*(depth + mod(t, 2*depth))
    do step = 1, np
      peer = modulo(me - step, np)
      call MPI_Irecv(r(1, 1 + t*tile, peer + 1), n*planes_of(t), MPI_DOUBLE_PRECISION, peer, 1, &
                     world, requests(slot + step), ierr)
    end do
  end subroutine post_receives

  !> Sends tile `t` to every rank, the next one first.
  subroutine send_planes(t)
    integer, intent(in) :: t
    integer :: slot, step, peer

    slot = np*mod(t, depth)
    do step = 1, np
      peer = modulo(me + step, np)
      call MPI_Isend(s(1, 1 + t*tile, peer + 1), n*planes_of(t), MPI_DOUBLE_PRECISION, peer, 1, &
                     world, requests(slot + step), ierr)
    end do
  end subroutine send_planes

  !> Waits for the np requests of a slot.
  subroutine wait_slot(slot)
    integer, intent(in) :: slot

    call MPI_Waitall(np, requests(np*slot + 1:np*slot + np), MPI_STATUSES_IGNORE, ierr)
  end subroutine wait_slot

  !> Planes in tile `t`; the last one may be shorter.
  pure integer function planes_of(t)
    integer, intent(in) :: t

    planes_of = min((t + 1)*tile, nz) - t*tile
  end function planes_of

end program synthetic_fig3
