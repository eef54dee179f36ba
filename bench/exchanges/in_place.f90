  !> What was received is read again by those who compute what is sent next.
  subroutine run(number, n, nz, early, steps, comm, first, rest, hash)
    integer, intent(in) :: number, n, nz, early, steps, comm
    real(real64), intent(out) :: first, rest
    integer(int64), intent(out) :: hash
    real(real64), allocatable :: s(:,:,:), r(:,:,:)
    integer :: np, me, step, i, p, z, ierr
    real(real64) :: amplitude, began, elapsed

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(s(n, nz, np), r(n, nz, np))
    r = 1
    hash = 1
    first = 0
    rest = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()
      do z = 1, nz
        call compute(number, z, step, amplitude)
        do p = 1, np
          do i = 1, n
            s(i, z, p) = r(i, z, p)/2 + amplitude*(i + me) + p
          end do
        end do
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
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
