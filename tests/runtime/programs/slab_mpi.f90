! The slab shape with rotation as it is emitted: `use mpi`, whole planes are dealt to the ranks.
! Block p of the planes of `s` (nb = nz/np planes each) goes to rank p - 1.
subroutine exchange_slabs(n, nz, np, k, d, comm, s, r, zlast)
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_no_request, asphalt_sync, &
                          asphalt_waitall
  use asphalt_exchange, only: asphalt_enter, asphalt_progress
  implicit none
  integer, intent(in) :: n, nz, np, k, d, comm
  real(8), intent(out) :: s(n, nz), r(n, nz)
  integer, intent(out) :: zlast
  integer :: i, z, ierr, me
  integer :: asphalt_first, asphalt_trips, asphalt_lo, asphalt_hi, asphalt_step, asphalt_steps
  integer :: asphalt_tiles, asphalt_ahead, asphalt_posted, asphalt_slot, asphalt_turn, asphalt_peer
  integer :: asphalt_tile, asphalt_oldest
  integer :: asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_d, asphalt_err
  integer, allocatable :: asphalt_req(:)
  logical :: asphalt_tiled

  call MPI_Comm_rank(comm, me, ierr)
  asphalt_first = 1
  asphalt_trips = max(0, nz) / np
  call asphalt_enter(comm, MPI_DOUBLE_PRECISION, storage_size(s)/8, n, asphalt_trips, 1, k, d, &
                     asphalt_trips*np == nz, .false., asphalt_comm, asphalt_me, asphalt_np, &
                     asphalt_k, asphalt_d, asphalt_err, slab=.true.)
  asphalt_tiled = asphalt_k > 0
  if (asphalt_tiled) then
    asphalt_tiles = (asphalt_trips + asphalt_k - 1) / asphalt_k
    asphalt_steps = asphalt_tiles*asphalt_np
  else
    asphalt_tiles = 1
    asphalt_steps = 1
  end if
  allocate(asphalt_req(3*asphalt_d), source=asphalt_no_request)
  asphalt_posted = 0
  asphalt_turn = 0
  asphalt_peer = 0
  do asphalt_step = 0, asphalt_steps - 1
    asphalt_lo = asphalt_first
    asphalt_hi = nz
    if (asphalt_tiled) then
      do asphalt_ahead = asphalt_posted, min(asphalt_step + asphalt_d, asphalt_steps) - 1
        asphalt_peer = modulo(asphalt_me - 1 - asphalt_ahead/asphalt_tiles, asphalt_np)
        asphalt_tile = mod(asphalt_ahead, asphalt_tiles)*asphalt_k
        call asphalt_irecv(r(1, 1 + asphalt_peer*asphalt_trips + asphalt_tile), &
                       n*min(asphalt_k, asphalt_trips - asphalt_tile), MPI_DOUBLE_PRECISION, &
                       asphalt_peer, 1, asphalt_comm, &
                       asphalt_req(asphalt_d + mod(asphalt_ahead, 2*asphalt_d) + 1), asphalt_err)
      end do
      asphalt_posted = min(asphalt_step + asphalt_d, asphalt_steps)
      asphalt_peer = modulo(asphalt_me + 1 + asphalt_step/asphalt_tiles, asphalt_np)
      asphalt_tile = mod(asphalt_step, asphalt_tiles)*asphalt_k
      asphalt_lo = asphalt_first + asphalt_peer*asphalt_trips + asphalt_tile
      asphalt_hi = asphalt_lo + min(asphalt_k, asphalt_trips - asphalt_tile) - 1
    end if
    do z = asphalt_lo, asphalt_hi
      if (asphalt_tiled) call asphalt_progress(asphalt_req, asphalt_turn, asphalt_k, asphalt_err)
      do i = 1, n
        s(i,z) = sin(dble(i*z)) + 10*me
      end do
    end do
    if (asphalt_tiled) then
      asphalt_slot = mod(asphalt_step, asphalt_d) + 1
      call asphalt_waitall(1, asphalt_req(asphalt_slot), asphalt_err)
      if (asphalt_step >= asphalt_d) then
        asphalt_oldest = asphalt_d + mod(asphalt_step - asphalt_d, 2*asphalt_d) + 1
        call asphalt_waitall(1, asphalt_req(asphalt_oldest), asphalt_err)
      end if
      call asphalt_isend(s(1, asphalt_lo), n*(asphalt_hi - asphalt_lo + 1), &
                     MPI_DOUBLE_PRECISION, asphalt_peer, 1, asphalt_comm, &
                     asphalt_req(asphalt_slot), asphalt_err)
    end if
  end do
  z = max(asphalt_first, nz + 1)
  if (asphalt_tiled) then
    call asphalt_waitall(size(asphalt_req), asphalt_req, asphalt_err)
    call asphalt_sync(s)
    call asphalt_sync(r)
    ierr = asphalt_err
  else
    call MPI_Alltoall(s, n*(nz/np), MPI_DOUBLE_PRECISION, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
                      comm, ierr)
  end if
  deallocate(asphalt_req)
  zlast = z
end subroutine exchange_slabs

subroutine site(n, nz, k, d, comm, wrong)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, k, d, comm
  integer, intent(out) :: wrong
  external :: exchange_slabs
  real(8), allocatable :: s(:,:), r(:,:), want(:,:)
  integer :: np, ierr, planes, zlast

  call MPI_Comm_size(comm, np, ierr)
  planes = nz*np
  if (k == 5) planes = nz  ! blocks that are not of whole planes: not tiled
  allocate(s(n,planes), r(n,planes), want(n,planes), source=0.0d0)
  call exchange_slabs(n, planes, np, k, d, comm, s, r, zlast)
  want = r
  if (mod(planes, np) == 0) &
    call MPI_Alltoall(s, n*(planes/np), MPI_DOUBLE_PRECISION, want, n*(planes/np), &
                      MPI_DOUBLE_PRECISION, comm, ierr)
  wrong = count(r /= want)
  if (zlast /= planes + 1) wrong = wrong + 1
end subroutine site
