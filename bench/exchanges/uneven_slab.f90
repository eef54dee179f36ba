  !> Each plane belongs to one rank, the last of which has one plane less.
  subroutine run(number, n, nz, early, steps, comm, first, rest, hash)
    integer, intent(in) :: number, n, nz, early, steps, comm
    real(real64), intent(out) :: first, rest
    integer(int64), intent(out) :: hash
    real(real64), allocatable :: s(:,:), r(:,:)
    integer, allocatable :: send_count(:), send_offset(:), recv_count(:), recv_offset(:)
    integer :: np, me, p, total, mine, step, i, k, ierr
    real(real64) :: amplitude, began, elapsed

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(send_count(0:np-1), send_offset(0:np-1), recv_count(0:np-1), recv_offset(0:np-1))
    total = max(np, nz*np - 1)
    mine = min(total, (me + 1)*nz) - min(total, me*nz)
    do p = 0, np - 1
      send_offset(p) = n*min(total, p*nz)
      send_count(p) = n*min(total, (p + 1)*nz) - send_offset(p)
      recv_count(p) = n*mine
      recv_offset(p) = n*mine*p
    end do
    allocate(s(n, total), r(n, mine*np))
    hash = 1
    first = 0
    rest = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()
      do k = 1, total
        call compute(number, k, step, amplitude)
        do i = 1, n
          s(i, k) = amplitude*(i + me)
        end do
      end do
      call MPI_Alltoallv(s, send_count, send_offset, MPI_DOUBLE_PRECISION, &
                         r, recv_count, recv_offset, MPI_DOUBLE_PRECISION, comm, ierr)
      elapsed = MPI_Wtime() - began
      if (step <= early) then
        first = first + elapsed
      else
        rest = rest + elapsed
      end if
      call mix(size(r), r, hash)
    end do
    deallocate(s, r)
  end subroutine run
