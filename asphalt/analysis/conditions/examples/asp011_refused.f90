program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: step, me, np, request, ierr
  real(8) :: s(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  s = me
  do step = 1, 3
    call MPI_Isend(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), step, MPI_COMM_WORLD, &
                   request, ierr)
    if (np > 1) call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)   ! and on one rank?
  end do
  call MPI_Finalize(ierr)
end program exchange
