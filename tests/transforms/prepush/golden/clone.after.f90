subroutine in_place(nx, ny, nz, np, comm, x, s)
  use mpi
  use asphalt_core, only: asphalt_byte, asphalt_irecv, asphalt_isend, asphalt_no_request, &
                          asphalt_sync, asphalt_waitall
  use asphalt_exchange, only: asphalt_copy, asphalt_enter, asphalt_progress
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  complex(8), intent(inout) :: x(nx*np, ny, nz), s(nx, ny, nz, np)
  integer :: z, p, ierr
  include 'asphalt_params.inc'
  ! does not compile with K < 0 or D < 1 in the header
  integer(kind=merge(kind(0), -1, asphalt_k_in_place >= 0 .and. asphalt_d_in_place >= 1)) :: &
          asphalt_k
  integer :: asphalt_ahead, asphalt_comm, asphalt_d, asphalt_err, asphalt_first, asphalt_hi, &
             asphalt_i, asphalt_last, asphalt_lo, asphalt_me, asphalt_np, asphalt_peer, &
             asphalt_posted, asphalt_slot, asphalt_tile, asphalt_tiles, asphalt_turn
  integer, allocatable :: asphalt_req(:)
  integer(asphalt_byte), allocatable :: asphalt_clone(:,:,:)
  logical :: asphalt_tiled

  ! asphalt: MPI_Alltoall of site 'in_place' prepushed along z
  asphalt_first = 1
  asphalt_last = nz
  call asphalt_enter(comm, MPI_DOUBLE_COMPLEX, storage_size(s)/8, nx*ny, &
                     asphalt_last - asphalt_first + 1, 1, asphalt_k_in_place, asphalt_d_in_place, &
                     .true., .false., asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_d, &
                     asphalt_err, count=nx*ny*nz, site='in_place')
  asphalt_tiled = asphalt_k > 0
  if (asphalt_tiled) then
    asphalt_tiles = max(1, (asphalt_k + asphalt_last - asphalt_first)/asphalt_k)
    ! received into a clone: pieces do not line up with the dimensions of x
    allocate(asphalt_clone(storage_size(x)/8,nx*ny*nz,asphalt_np))
  else
    asphalt_k = max(1, asphalt_last - asphalt_first + 1)
    asphalt_tiles = 1
  end if
  allocate(asphalt_req(3*asphalt_np*asphalt_d), source=asphalt_no_request)
  asphalt_posted = 0
  asphalt_turn = 0
  do asphalt_tile = 0, asphalt_tiles - 1
    if (asphalt_tiled) then
      ! receives stand ready D tiles ahead
      do asphalt_ahead = asphalt_posted, min(asphalt_tile + asphalt_d, asphalt_tiles) - 1
        asphalt_lo = asphalt_first + asphalt_ahead*asphalt_k
        asphalt_hi = min(asphalt_lo + asphalt_k - 1, asphalt_last)
        asphalt_slot = asphalt_np*(asphalt_d + mod(asphalt_ahead, 2*asphalt_d))
        do asphalt_i = 1, asphalt_np
          asphalt_peer = modulo(asphalt_me - asphalt_i, asphalt_np)
          call asphalt_irecv(asphalt_clone(1,nx*ny*(asphalt_lo-1)+1,asphalt_peer+1), &
                             nx*ny*(asphalt_hi - asphalt_lo + 1), MPI_DOUBLE_COMPLEX, &
                             asphalt_peer, 0, asphalt_comm, asphalt_req(asphalt_slot+asphalt_i), &
                             asphalt_err)
        end do
      end do
      asphalt_posted = asphalt_ahead
    end if
    asphalt_lo = asphalt_first + asphalt_tile*asphalt_k
    asphalt_hi = min(asphalt_lo + asphalt_k - 1, asphalt_last)
    do z = asphalt_lo, asphalt_hi
      if (asphalt_tiled) call asphalt_progress(asphalt_req, asphalt_turn, asphalt_k, asphalt_err)
      do p = 1, np
        s(:,:,z,p) = 2*x((p-1)*nx+1:p*nx,:,z)
      end do
    end do
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
        call asphalt_isend(s(1,1,asphalt_lo,asphalt_peer+1), nx*ny*(asphalt_hi - asphalt_lo + 1), &
                           MPI_DOUBLE_COMPLEX, asphalt_peer, 0, asphalt_comm, &
                           asphalt_req(asphalt_slot+asphalt_i), asphalt_err)
      end do
    end if
  end do
  ! back to where the planes were
  if (asphalt_tiled) then
    call asphalt_waitall(3*asphalt_np*asphalt_d, asphalt_req, asphalt_err)
    call asphalt_sync(s)
    call asphalt_copy(asphalt_clone, x)
    deallocate(asphalt_clone)
    ierr = asphalt_err
  else
    call MPI_Alltoall(s, nx*ny*nz, MPI_DOUBLE_COMPLEX, x, nx*ny*nz, MPI_DOUBLE_COMPLEX, comm, ierr)
  end if
  deallocate(asphalt_req)
end subroutine in_place
