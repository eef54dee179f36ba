subroutine transpose(np, comm)
  use mpi_f08
  use asphalt_core, only: asphalt_irecv, asphalt_isend, asphalt_no_request, asphalt_sync, &
                          asphalt_waitall
  use asphalt_exchange, only: asphalt_enter
  implicit none
  integer, intent(in) :: np
  type(MPI_Comm), intent(in) :: comm
  integer, parameter :: n = 4, nz = 8
  integer :: s(0:n-1, nz, np), r(0:n-1, nz, np), z
  include 'asphalt_params.inc'
  ! does not compile with K < 0 or D < 1 in the header
  integer(kind=merge(kind(0), -1, asphalt_k_transpose >= 0 .and. asphalt_d_transpose >= 1)) :: &
          asphalt_k
  integer :: asphalt_ahead, asphalt_comm, asphalt_d, asphalt_err, asphalt_first, asphalt_hi, &
             asphalt_i, asphalt_last, asphalt_lo, asphalt_me, asphalt_np, asphalt_peer, &
             asphalt_posted, asphalt_slot, asphalt_tile, asphalt_tiles, asphalt_turn
  integer, allocatable :: asphalt_req(:)
  logical :: asphalt_tiled
  ! asphalt: MPI_Alltoall of site 'transpose' prepushed along z
  asphalt_first = 0
  asphalt_last = nz - 1
  call asphalt_enter(comm%MPI_VAL, MPI_INTEGER%MPI_VAL, storage_size(s)/8, n, &
                     asphalt_last - asphalt_first + 1, 16, asphalt_k_transpose, &
                     asphalt_d_transpose, .true., .true., asphalt_comm, asphalt_me, asphalt_np, &
                     asphalt_k, asphalt_d, asphalt_err, count=n*nz, site='transpose')
  asphalt_tiled = asphalt_k > 0
  if (asphalt_tiled) then
    asphalt_tiles = max(1, (asphalt_k + asphalt_last - asphalt_first)/asphalt_k)
  else
    asphalt_k = max(1, asphalt_last - asphalt_first + 1)
    asphalt_tiles = 1
  end if
  allocate(asphalt_req(3*asphalt_np*asphalt_d), source=asphalt_no_request)
  asphalt_posted = 0
  asphalt_turn = 0
  do asphalt_tile = 0, asphalt_tiles - 1
    if (asphalt_tiled) then
      ! receives stand ready D tiles ahead, where the call would have put the data
      do asphalt_ahead = asphalt_posted, min(asphalt_tile + asphalt_d, asphalt_tiles) - 1
        asphalt_lo = asphalt_first + asphalt_ahead*asphalt_k
        asphalt_hi = min(asphalt_lo + asphalt_k - 1, asphalt_last)
        asphalt_slot = asphalt_np*(asphalt_d + mod(asphalt_ahead, 2*asphalt_d))
        do asphalt_i = 1, asphalt_np
          asphalt_peer = modulo(asphalt_me - asphalt_i, asphalt_np)
          call asphalt_irecv(r(0,asphalt_lo+1,asphalt_peer+1), n*(asphalt_hi - asphalt_lo + 1), &
                             MPI_INTEGER%MPI_VAL, asphalt_peer, 0, asphalt_comm, &
                             asphalt_req(asphalt_slot+asphalt_i), asphalt_err)
        end do
      end do
      asphalt_posted = asphalt_ahead
    end if
    asphalt_lo = asphalt_first + asphalt_tile*asphalt_k
    asphalt_hi = min(asphalt_lo + asphalt_k - 1, asphalt_last)
    planes: do z = asphalt_lo, asphalt_hi
      s(:,z+1,:) = z
    end do planes
    if (asphalt_tiled) then
      ! tile - D must be through before its slots are used
      asphalt_slot = asphalt_np*(asphalt_d + mod(asphalt_tile + asphalt_d, 2*asphalt_d))
      call asphalt_waitall(asphalt_np, asphalt_req(asphalt_slot+1:asphalt_np+asphalt_slot), &
                           asphalt_err)
      asphalt_slot = asphalt_np*mod(asphalt_tile, asphalt_d)
      call asphalt_waitall(asphalt_np, asphalt_req(asphalt_slot+1:asphalt_np+asphalt_slot), &
                           asphalt_err)
      do asphalt_i = 1, asphalt_np
        asphalt_peer = modulo(asphalt_me + asphalt_i, asphalt_np)
        call asphalt_isend(s(0,asphalt_lo+1,asphalt_peer+1), n*(asphalt_hi - asphalt_lo + 1), &
                           MPI_INTEGER%MPI_VAL, asphalt_peer, 0, asphalt_comm, &
                           asphalt_req(asphalt_slot+asphalt_i), asphalt_err)
      end do
    end if
  end do
  if (asphalt_tiled) then
    call asphalt_waitall(3*asphalt_np*asphalt_d, asphalt_req, asphalt_err)
    call asphalt_sync(s)
    call asphalt_sync(r)
  else
    call MPI_Alltoall(recvbuf=r, sendbuf=s, sendcount=n*nz, sendtype=MPI_INTEGER, &
                      recvcount=n*nz, recvtype=MPI_INTEGER, comm=comm)
  end if
  deallocate(asphalt_req)
  if (sum(r) < 0) error stop
end subroutine transpose
