subroutine planes(n, nz, np, comm, s, r, last)
   use mpi, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION
   use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_no_request, asphalt_sync, &
                           asphalt_waitall
   use asphalt_exchange, only: asphalt_enter, asphalt_ranks
   implicit none
   integer, intent(in) :: n, nz, np, comm
   real(8), intent(inout) :: s(n, nz), r(n, nz)
   integer, intent(out) :: last
   integer :: k, ierr
   include 'asphalt_params.inc'
   ! does not compile with K < 0 or D < 1 in the header
   integer(kind=merge(kind(0), -1, asphalt_k_planes >= 0 .and. asphalt_d_planes >= 1)) :: asphalt_k
   integer :: asphalt_ahead, asphalt_block, asphalt_comm, asphalt_d, asphalt_each, asphalt_err, &
              asphalt_first, asphalt_from, asphalt_hi, asphalt_last, asphalt_lo, asphalt_me, &
              asphalt_np, asphalt_peer, asphalt_planes, asphalt_posted, asphalt_slot, &
              asphalt_tile, asphalt_tiles, asphalt_turn
   integer, allocatable :: asphalt_req(:)
   logical :: asphalt_tiled
   ! asphalt: MPI_Alltoall of site 'planes' prepushed along k
   asphalt_first = 1
   asphalt_last = nz
   asphalt_block = nz/np
   asphalt_np = asphalt_ranks(comm)
   call asphalt_enter(comm, MPI_DOUBLE_PRECISION, storage_size(s)/8, n, asphalt_block, 16, &
                      asphalt_k_planes, asphalt_d_planes, &
                      asphalt_last - asphalt_first + 1 == asphalt_np*asphalt_block, .false., &
                      asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_d, asphalt_err, &
                      slab=.true., count=n*(nz/np), site='planes')
   asphalt_tiled = asphalt_k > 0
   if (asphalt_tiled) then
      asphalt_each = (asphalt_block + asphalt_k - 1)/asphalt_k
      asphalt_tiles = max(1, asphalt_np*asphalt_each)
   else
      asphalt_k = max(1, asphalt_last - asphalt_first + 1)
      asphalt_tiles = 1
      asphalt_each = 1
   end if
   allocate(asphalt_req(3*asphalt_d), source=asphalt_no_request)
   asphalt_posted = 0
   asphalt_turn = 0
   do asphalt_tile = 0, asphalt_tiles - 1
      if (asphalt_tiled) then
         ! receives stand ready D tiles ahead, where the call would have put the data
         do asphalt_ahead = asphalt_posted, min(asphalt_tile + asphalt_d, asphalt_tiles) - 1
            asphalt_peer = modulo(asphalt_me - 1 - asphalt_ahead/asphalt_each, asphalt_np)
            asphalt_from = mod(asphalt_ahead, asphalt_each)*asphalt_k
            asphalt_planes = min(asphalt_k, asphalt_block - asphalt_from)
            asphalt_slot = asphalt_d + mod(asphalt_ahead, 2*asphalt_d) + 1
            call asphalt_irecv(r(1,asphalt_block*asphalt_peer+asphalt_from+1), n*asphalt_planes, &
                               MPI_DOUBLE_PRECISION, asphalt_peer, 0, asphalt_comm, &
                               asphalt_req(asphalt_slot), asphalt_err)
         end do
         asphalt_posted = asphalt_ahead
      end if
      if (asphalt_tiled) then
         ! rank r begins with the block of rank r+1, so that not all send to one rank
         asphalt_peer = modulo(asphalt_me + 1 + asphalt_tile/asphalt_each, asphalt_np)
         asphalt_from = mod(asphalt_tile, asphalt_each)*asphalt_k
         asphalt_planes = min(asphalt_k, asphalt_block - asphalt_from)
         asphalt_lo = asphalt_first + asphalt_peer*asphalt_block + asphalt_from
         asphalt_hi = asphalt_lo + asphalt_planes - 1
      else
         asphalt_lo = asphalt_first
         asphalt_hi = asphalt_last
      end if
      do k = asphalt_lo, asphalt_hi
         s(:,k) = sqrt(dble(k))
      enddo
      if (asphalt_tiled) then
         ! tile - D must be through before its slots are used
         asphalt_slot = asphalt_d + mod(asphalt_tile + asphalt_d, 2*asphalt_d) + 1
         call asphalt_waitall(1, asphalt_req(asphalt_slot:asphalt_slot), asphalt_err)
         asphalt_slot = mod(asphalt_tile, asphalt_d) + 1
         call asphalt_waitall(1, asphalt_req(asphalt_slot:asphalt_slot), asphalt_err)
         asphalt_peer = modulo(asphalt_me + 1 + asphalt_tile/asphalt_each, asphalt_np)
         call asphalt_isend(s(1,asphalt_lo), n*(asphalt_hi - asphalt_lo + 1), &
                            MPI_DOUBLE_PRECISION, asphalt_peer, 0, asphalt_comm, &
                            asphalt_req(asphalt_slot), asphalt_err)
      end if
   end do
   if (asphalt_tiled) then
      k = asphalt_last + 1
   end if
   if (asphalt_tiled) then
      call asphalt_waitall(3*asphalt_d, asphalt_req, asphalt_err)
      call asphalt_sync(s)
      call asphalt_sync(r)
      ierr = asphalt_err
   else
      call MPI_Alltoall(s, n*(nz/np), MPI_DOUBLE_PRECISION, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
         comm, ierr)
   end if
   deallocate(asphalt_req)
   last = k
end subroutine planes
