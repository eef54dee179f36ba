! Two threads make their first exchanges at once, on different communicators: each finds again what
! it has put there.
program key_of_threads
  use mpi
  use asphalt_communicators, only: companion, find_companion
  implicit none
  type :: pointed
    type(companion), pointer :: at => null()
  end type pointed
  interface
    integer function keys_made() bind(c)
    end function keys_made
  end interface
  type(pointed) :: first(2), again
  integer :: comms(2), errors(2), n, level, error
  logical :: right

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, error)
  right = level == MPI_THREAD_MULTIPLE
  do n = 1, 2
    call MPI_Comm_dup(MPI_COMM_WORLD, comms(n), error)
  end do
  !$omp parallel do num_threads(2) schedule(static, 1)
  do n = 1, 2
    call find_companion(comms(n), first(n)%at, errors(n))
  end do
  right = right .and. all(errors == MPI_SUCCESS) .and. keys_made() == 1
  do n = 1, 2
    call find_companion(comms(n), again%at, error)
    right = right .and. associated(again%at, first(n)%at)
  end do
  if (right) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program key_of_threads
