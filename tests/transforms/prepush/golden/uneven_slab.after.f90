! Blocks of different lengths, one behind the other: tiles are pieces of an agreed length.
subroutine transpose(nx, ny, nz, np, comm, scounts, sdispls, rcounts, rdispls, s, r, ierr)
  use mpi
  use asphalt_core, only: asphalt_no_request, asphalt_sync, asphalt_waitall
  use asphalt_pieces, only: asphalt_isend_at, asphalt_iterations, asphalt_next_piece, &
                            asphalt_pieces_of
  use asphalt_exchange, only: asphalt_progress
  use asphalt_uneven, only: asphalt_answers, asphalt_enter_uneven, asphalt_hear
  implicit none
  integer, intent(in) :: nx, ny, nz, np, comm
  integer, intent(in) :: scounts(0:np-1), sdispls(0:np-1), rcounts(0:np-1), rdispls(0:np-1)
  real(8), intent(inout) :: s(nx,ny,nz), r(*)
  integer, intent(out) :: ierr
  integer :: i, j, k
  include 'asphalt_params.inc'
  ! does not compile with K < 0 or D < 1 in the header
  integer(kind=merge(kind(0), -1, asphalt_k_transpose >= 0 .and. asphalt_d_transpose >= 1)) :: &
          asphalt_k
  integer :: asphalt_begin, asphalt_comm, asphalt_count, asphalt_d, asphalt_end, asphalt_err, &
             asphalt_first, asphalt_from, asphalt_hi, asphalt_last, asphalt_lo, asphalt_me, &
             asphalt_np, asphalt_peer, asphalt_piece, asphalt_pieces, asphalt_slot, asphalt_tile, &
             asphalt_tiles, asphalt_turn, asphalt_unit
  integer, allocatable :: asphalt_req(:)
  logical :: asphalt_tiled
  type(asphalt_answers) :: asphalt_answer

  ! one plane after the other
  ! asphalt: MPI_Alltoallv of site 'transpose' prepushed along k
  asphalt_first = 1
  asphalt_last = nz
  asphalt_unit = nx*ny
  call asphalt_enter_uneven(comm, MPI_DOUBLE_PRECISION, storage_size(s)/8, asphalt_unit, &
                            asphalt_last - asphalt_first + 1, 1, asphalt_k_transpose, &
                            asphalt_d_transpose, .true., scounts, sdispls, rcounts, .true., 0, &
                            asphalt_comm, asphalt_me, asphalt_np, asphalt_k, asphalt_piece, &
                            asphalt_answer, asphalt_d, asphalt_err, site='transpose')
  asphalt_tiled = asphalt_k > 0
  if (asphalt_tiled) then
    asphalt_pieces = asphalt_pieces_of(scounts,asphalt_np,asphalt_piece)
  else
    asphalt_pieces = 0
  end if
  allocate(asphalt_req(asphalt_d), source=asphalt_no_request)
  asphalt_tiles = max(1, asphalt_pieces)
  asphalt_end = max(asphalt_first, asphalt_last + 1)
  ! rank r begins with the block of rank r+1, so that not all send to one rank
  if (asphalt_pieces > 0) then
    asphalt_peer = asphalt_me
    asphalt_from = 0
    asphalt_count = scounts(asphalt_peer)
  end if
  asphalt_turn = 0
  do asphalt_tile = 0, asphalt_tiles - 1
    if (asphalt_pieces > 0) then
      call asphalt_next_piece(scounts, asphalt_np, asphalt_piece, asphalt_peer, asphalt_from, &
                              asphalt_count)
      asphalt_begin = sdispls(asphalt_peer) + asphalt_from
      asphalt_lo = asphalt_first + asphalt_iterations(asphalt_begin,asphalt_unit)
      asphalt_hi = asphalt_first + asphalt_iterations(asphalt_begin+asphalt_count,asphalt_unit) - 1
    else
      asphalt_lo = asphalt_first
      asphalt_hi = asphalt_last
    end if
    do k = asphalt_lo, asphalt_hi
      ! receives are posted once all ranks have told how they cut what they send
      if (asphalt_tiled .and. asphalt_tile == 0) then
        call asphalt_hear(asphalt_answer, .false., r, rcounts, rdispls, asphalt_req, &
                          asphalt_tiled, asphalt_err)
      end if
      if (asphalt_tiled) call asphalt_progress(asphalt_req, asphalt_turn, asphalt_k, asphalt_err)
      do j = 1, ny
        do i = 1, nx
          s(i,j,k) = i + 100*j + 10000*k
        end do
      end do
    end do
    if (asphalt_tiled .and. asphalt_tile == 0) then
      call asphalt_hear(asphalt_answer, .true., r, rcounts, rdispls, asphalt_req, asphalt_tiled, &
                        asphalt_err)
    end if
    if (asphalt_tiled .and. asphalt_pieces > 0) then
      asphalt_slot = mod(asphalt_tile, asphalt_d) + 1
      call asphalt_waitall(1, asphalt_req(asphalt_slot:asphalt_slot), asphalt_err)
      call asphalt_isend_at(s, sdispls(asphalt_peer) + asphalt_from, asphalt_count, &
                            MPI_DOUBLE_PRECISION, asphalt_peer, 0, asphalt_comm, &
                            asphalt_req(asphalt_slot), asphalt_err)
    end if
  end do
  if (asphalt_pieces > 0) then
    k = asphalt_end
  end if
  if (asphalt_tiled) then
    call asphalt_waitall(size(asphalt_req), asphalt_req, asphalt_err)
    call asphalt_sync(s)
    call asphalt_sync(r)
    ierr = asphalt_err
  else
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, MPI_DOUBLE_PRECISION, comm, ierr)
  end if
  deallocate(asphalt_req)
end subroutine transpose
