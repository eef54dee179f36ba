  !> A plane lies in four pieces in the part of each rank.
  subroutine run(number, n, nz, early, steps, comm, first, rest, hash)
    integer, intent(in) :: number, n, nz, early, steps, comm
    real(real64), intent(out) :: first, rest
    integer(int64), intent(out) :: hash
    integer, parameter :: pieces = 4
    real(real64), allocatable :: s(:,:,:,:), r(:,:,:,:)
    integer :: np, me, run_length, step, i, p, z, j, ierr
    real(real64) :: amplitude, began, elapsed

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    run_length = n/pieces
    allocate(s(run_length, nz, pieces, np), r(run_length, nz, pieces, np))
    hash = 1
    first = 0
    rest = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()
      do z = 1, nz
        call compute(number, z, step, amplitude)
        do p = 1, np
          do j = 1, pieces
            do i = 1, run_length
              s(i, z, j, p) = amplitude*(i + me) + p - j
            end do
          end do
        end do
      end do
      call MPI_Alltoall(s, run_length*nz*pieces, MPI_DOUBLE_PRECISION, &
                        r, run_length*nz*pieces, MPI_DOUBLE_PRECISION, comm, ierr)
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
