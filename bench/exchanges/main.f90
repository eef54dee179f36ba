!> Runs all cases, each on a communicator of its own, so that each pays for what is made once.
program exchanges
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use exchange, only: run
  implicit none
  include 'cases.inc'
  real(real64) :: first, rest, mine(2), longest(2)
  integer(int64) :: hash, all
  integer :: number, me, comm, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  do number = 1, cases
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call run(number, elements(number), planes(number), early(number), steps(number), comm, &
             first, rest, hash)
    mine = [first, rest]
    call MPI_Reduce(mine, longest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, ierr)
    call MPI_Reduce(hash, all, 1, MPI_INTEGER8, MPI_BXOR, 0, comm, ierr)
    if (me == 0) print '("case ", i0, 2(1x, es22.15), 1x, z16.16)', number, longest, all
    call MPI_Comm_free(comm, ierr)
  end do
  call MPI_Finalize(ierr)
end program exchanges
