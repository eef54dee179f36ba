! Two fields are exchanged in turn in a ring: one message each, or one for both.
program in_turn
  use mpi
  implicit none
  integer, parameter :: n = 64, steps = 20
  real(8) :: u(n, 0:2), v(n, 0:2), began
  integer :: me, np, left, right, step, i, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  do i = 1, n
    u(i, :) = me + i
    v(i, :) = me - i
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  began = MPI_Wtime()
  do step = 1, steps
    call MPI_Sendrecv(u(1, 1), n, MPI_DOUBLE_PRECISION, right, 1, &
                      u(1, 0), n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(v(1, 1), n, MPI_DOUBLE_PRECISION, right, 2, &
                      v(1, 0), n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    u(1, 1) = u(n, 0) + v(1, 0)
    v(1, 1) = v(n, 0) - u(1, 0)
  end do
  began = MPI_Wtime() - began
  if (me == 0) write (0, '(a, es24.15)') 'seconds ', began
  if (me == 0) print '(z16)', u(1, 1) + v(1, 1)
  call MPI_Finalize(ierr)
end program in_turn
