! Blocks of different lengths, each in a column of its own that may be longer.
subroutine transpose(n, nz, np, me, comm, counts, displs, s, r)
  use mpi_f08
  use asphalt_core, only: asphalt_no_request, asphalt_sync, asphalt_waitall
  use asphalt_pieces, only: asphalt_isend_at, asphalt_iterations, asphalt_most_pieces
  use asphalt_exchange, only: asphalt_progress
  use asphalt_uneven, only: asphalt_answers, asphalt_enter_uneven, asphalt_hear
  implicit none
  integer, intent(in) :: n, nz, np, me
  type(MPI_Comm), intent(in) :: comm
  integer, intent(in) :: counts(np,2), displs(np,2)
  real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
  integer :: i, z, p
  include 'asphalt_params.inc'
  ! does not compile with K < 0 or D < 1 in the header
  integer(kind=merge(kind(0), -1, asphalt_k_transpose >= 0 .and. asphalt_d_transpose >= 1)) :: &
          asphalt_k
  integer :: asphalt_comm, asphalt_count, asphalt_d, asphalt_end, asphalt_err, asphalt_first, &
             asphalt_from, asphalt_hi, asphalt_i, asphalt_last, asphalt_lo, asphalt_me, &
             asphalt_np, asphalt_peer, asphalt_piece, asphalt_pieces, asphalt_slot, asphalt_tile, &
             asphalt_tiles, asphalt_turn, asphalt_unit
  integer, allocatable :: asphalt_req(:)
  logical :: asphalt_tiled
  type(asphalt_answers) :: asphalt_answer

  ! asphalt: MPI_Alltoallv of site 'transpose' prepushed along z
  asphalt_first = 1
  asphalt_last = nz
  asphalt_unit = n
  call asphalt_enter_uneven(comm%MPI_VAL, MPI_REAL8%MPI_VAL, storage_size(s)/8, asphalt_unit, &
                            asphalt_last - asphalt_first + 1, 1, asphalt_k_transpose, &
                            asphalt_d_transpose, .true., counts(:,1), displs(:,1), &
                            counts(1:np,2), .false., n*nz, asphalt_comm, asphalt_me, asphalt_np, &
                            asphalt_k, asphalt_piece, asphalt_answer, asphalt_d, asphalt_err, &
                            site='transpose')
  asphalt_tiled = asphalt_k > 0
  if (asphalt_tiled) then
    asphalt_pieces = asphalt_most_pieces(counts(:,1),asphalt_np,asphalt_piece)
  else
    asphalt_pieces = 0
  end if
  allocate(asphalt_req(asphalt_np*asphalt_d), source=asphalt_no_request)
  asphalt_tiles = max(1, asphalt_pieces)
  asphalt_end = max(asphalt_first, asphalt_last + 1)
  asphalt_turn = 0
  do asphalt_tile = 0, asphalt_tiles - 1
    asphalt_from = asphalt_tile*asphalt_piece
    asphalt_lo = min(asphalt_first + asphalt_iterations(asphalt_from,asphalt_unit), asphalt_end)
    asphalt_hi = min(asphalt_first + asphalt_iterations(asphalt_from+asphalt_piece,asphalt_unit), &
        asphalt_end) - 1
    if (asphalt_tile == asphalt_tiles - 1) then
      asphalt_hi = asphalt_last
    end if
    do z = asphalt_lo, asphalt_hi
      ! receives are posted once all ranks have told how they cut what they send
      if (asphalt_tiled .and. asphalt_tile == 0) then
        call asphalt_hear(asphalt_answer, .false., r, counts(1:np,2), displs(1:np,2), &
                          asphalt_req, asphalt_tiled, asphalt_err)
      end if
      if (asphalt_tiled) call asphalt_progress(asphalt_req, asphalt_turn, asphalt_k, asphalt_err)
      do p = 1, np
        do i = 1, n
          s(i,z,p) = i*z + p*me
        end do
      end do
    end do
    if (asphalt_tiled .and. asphalt_tile == 0) then
      call asphalt_hear(asphalt_answer, .true., r, counts(1:np,2), displs(1:np,2), asphalt_req, &
                        asphalt_tiled, asphalt_err)
    end if
    if (asphalt_tiled) then
      asphalt_slot = asphalt_np*mod(asphalt_tile, asphalt_d)
      call asphalt_waitall(asphalt_np, asphalt_req(asphalt_slot+1:asphalt_np+asphalt_slot), &
                           asphalt_err)
      do asphalt_i = 1, asphalt_np
        asphalt_peer = modulo(asphalt_me + asphalt_i, asphalt_np)
        asphalt_count = min(asphalt_piece, counts(asphalt_peer+1,1) - asphalt_from)
        if (asphalt_count > 0) then
          call asphalt_isend_at(s, displs(asphalt_peer+1,1) + asphalt_from, asphalt_count, &
                                MPI_REAL8%MPI_VAL, asphalt_peer, 0, asphalt_comm, &
                                asphalt_req(asphalt_i+asphalt_slot), asphalt_err)
        end if
      end do
    end if
  end do
  if (asphalt_tiled) then
    call asphalt_waitall(size(asphalt_req), asphalt_req, asphalt_err)
    call asphalt_sync(s)
    call asphalt_sync(r)
  else
    call MPI_Alltoallv(s, counts(:,1), displs(:,1), MPI_REAL8, r, counts(1:np,2), displs(1:np,2), MPI_REAL8, comm)
  end if
  deallocate(asphalt_req)
end subroutine transpose
