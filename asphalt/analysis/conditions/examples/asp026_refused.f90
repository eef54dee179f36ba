program shift
  use mpi
  implicit none
  integer, parameter :: n = 8
  integer :: i, me, np, ierr
  integer :: status(MPI_STATUS_SIZE)
  real(8) :: s(n), r(n), w(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  r = 0
  w = me
  do i = 1, n
    s(i) = i + me + r(i)
  end do
  call MPI_Sendrecv(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 0, &
                    r, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 0, &
                    MPI_COMM_WORLD, status, ierr)

  do i = 1, n
    s(i) = sqrt(w(i)) + r(i)
  end do
  print *, sum(s) + sum(w)
  call MPI_Finalize(ierr)
end program shift
