! The every-block shape as it is emitted: `use mpi_f08`, local allocatable and module buffers.
module transposes
  use mpi_f08
  implicit none
  integer :: asphalt_k_transpose, asphalt_d_transpose
  real(8), allocatable :: s(:,:,:)
contains

  subroutine transpose_blocks(n, nz, np, comm, want, wrong)
    use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_no_request, asphalt_sync, &
                            asphalt_waitall
    use asphalt_exchange, only: asphalt_enter, asphalt_progress
    integer, intent(in) :: n, nz, np
    type(MPI_Comm), intent(in) :: comm
    real(8), intent(out) :: want(n, nz, np)
    integer, intent(out) :: wrong
    real(8) :: r(n, nz, np)
    integer :: i, z, p, me
    integer :: asphalt_first, asphalt_last, asphalt_trips, asphalt_lo, asphalt_hi, asphalt_tile
    integer :: asphalt_tiles, asphalt_ahead, asphalt_posted, asphalt_slot, asphalt_turn
    integer :: asphalt_i, asphalt_peer, asphalt_oldest
    integer :: asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_d, asphalt_err
    integer, allocatable :: asphalt_req(:)
    logical :: asphalt_tiled

    call MPI_Comm_rank(comm, me)
    asphalt_first = 1
    asphalt_last = nz
    asphalt_trips = max(0, asphalt_last - asphalt_first + 1)
    call asphalt_enter(comm%MPI_VAL, MPI_DOUBLE_PRECISION%MPI_VAL, storage_size(s)/8, n, &
                       asphalt_trips, 1, asphalt_k_transpose, asphalt_d_transpose, .true., &
                       .false., asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_d, &
                       asphalt_err)
    asphalt_tiled = asphalt_k > 0
    if (asphalt_tiled) then
      asphalt_tiles = (asphalt_trips + asphalt_k - 1) / asphalt_k
    else
      asphalt_k = max(1, asphalt_trips)
      asphalt_tiles = 1
    end if
    allocate(asphalt_req(3*asphalt_np*asphalt_d), source=asphalt_no_request)
    asphalt_posted = 0
    asphalt_turn = 0
    do asphalt_tile = 0, asphalt_tiles - 1
      asphalt_lo = asphalt_first + asphalt_tile*asphalt_k
      asphalt_hi = min(asphalt_lo + asphalt_k - 1, asphalt_last)
      if (asphalt_tiled) then
        do asphalt_ahead = asphalt_posted, min(asphalt_tile + asphalt_d, asphalt_tiles) - 1
          asphalt_slot = asphalt_np*(asphalt_d + mod(asphalt_ahead, 2*asphalt_d))
          do asphalt_i = 1, asphalt_np
            asphalt_peer = modulo(asphalt_me - asphalt_i, asphalt_np)
            call asphalt_irecv(r(1, asphalt_first + asphalt_ahead*asphalt_k, asphalt_peer + 1), &
                           n*min(asphalt_k, asphalt_trips - asphalt_ahead*asphalt_k), &
                           MPI_DOUBLE_PRECISION%MPI_VAL, asphalt_peer, 1, asphalt_comm, &
                           asphalt_req(asphalt_slot + asphalt_i), asphalt_err)
          end do
        end do
        asphalt_posted = min(asphalt_tile + asphalt_d, asphalt_tiles)
      end if
      do z = asphalt_lo, asphalt_hi
        if (asphalt_tiled) call asphalt_progress(asphalt_req, asphalt_turn, asphalt_k, asphalt_err)
        do p = 1, np
          do i = 1, n
            s(i,z,p) = sin(dble(i*z)) + p*(me + 1)
          end do
        end do
      end do
      if (asphalt_tiled) then
        asphalt_slot = asphalt_np*mod(asphalt_tile, asphalt_d)
        call asphalt_waitall(asphalt_np, asphalt_req(asphalt_slot + 1), asphalt_err)
        if (asphalt_tile >= asphalt_d) then
          asphalt_oldest = asphalt_np*(asphalt_d + mod(asphalt_tile - asphalt_d, 2*asphalt_d))
          call asphalt_waitall(asphalt_np, asphalt_req(asphalt_oldest + 1), asphalt_err)
        end if
        do asphalt_i = 1, asphalt_np
          asphalt_peer = modulo(asphalt_me + asphalt_i, asphalt_np)
          call asphalt_isend(s(1, asphalt_lo, asphalt_peer + 1), n*(asphalt_hi - asphalt_lo + 1), &
                         MPI_DOUBLE_PRECISION%MPI_VAL, asphalt_peer, 1, asphalt_comm, &
                         asphalt_req(asphalt_slot + asphalt_i), asphalt_err)
        end do
      end if
    end do
    if (asphalt_tiled) then
      call asphalt_waitall(size(asphalt_req), asphalt_req, asphalt_err)
      call asphalt_sync(s)
      call asphalt_sync(r)
    else
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm)
    end if
    deallocate(asphalt_req)
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, want, n*nz, MPI_DOUBLE_PRECISION, comm)
    wrong = count(r /= want)
  end subroutine transpose_blocks
end module transposes

subroutine site(n, nz, k, d, comm, wrong)
  use transposes
  implicit none
  integer, intent(in) :: n, nz, k, d, comm
  integer, intent(out) :: wrong
  real(8), allocatable :: want(:,:,:)
  integer :: np

  call MPI_Comm_size(MPI_Comm(comm), np)
  allocate(s(n,nz,np), want(n,nz,np))
  asphalt_k_transpose = k
  asphalt_d_transpose = d
  call transpose_blocks(n, nz, np, MPI_Comm(comm), want, wrong)
  deallocate(s)
end subroutine site
