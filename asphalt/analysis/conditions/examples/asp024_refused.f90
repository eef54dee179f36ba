program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: i, me, ierr
  real(8) :: a(n), b(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  a = me
  b = me
  if (me == 0) then
    call MPI_Bcast(a, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Bcast(a, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)   ! the same one
  end if
  do i = 1, n
    b(i) = b(i) + sin(dble(i))
  end do
  print *, sum(a), sum(b)
  call MPI_Finalize(ierr)
end program exchange
