  !> Each plane has a part for every rank, and ranks have different numbers of planes.
  subroutine run(number, n, nz, early, steps, comm, first, rest, hash)
    integer, intent(in) :: number, n, nz, early, steps, comm
    real(real64), intent(out) :: first, rest
    integer(int64), intent(out) :: hash
    real(real64), allocatable :: s(:,:,:), r(:)
    integer, allocatable :: send_count(:), send_offset(:), recv_count(:), recv_offset(:)
    integer :: np, me, p, mine, step, i, z, ierr
    real(real64) :: amplitude, began, elapsed

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(send_count(0:np-1), send_offset(0:np-1), recv_count(0:np-1), recv_offset(0:np-1))
    mine = max(1, nz - mod(me, 2))
    recv_offset(0) = 0
    do p = 0, np - 1
      send_offset(p) = n*mine*p
      send_count(p) = n*mine
      recv_count(p) = n*max(1, nz - mod(p, 2))
      if (p > 0) recv_offset(p) = recv_offset(p-1) + recv_count(p-1)
    end do
    allocate(s(n, mine, 0:np-1), r(sum(recv_count)))
    hash = 1
    first = 0
    rest = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()
      do z = 1, mine
        call compute(number, z, step, amplitude)
        do p = 0, np - 1
          do i = 1, n
            s(i, z, p) = amplitude*(i + me) + p
          end do
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
