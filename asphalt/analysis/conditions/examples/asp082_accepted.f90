!> Each rank works on what it gets from each other one.
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 5000
  integer :: me, np, ierr, i, p
  real(8), allocatable :: s(:,:), r(:,:), x(:,:), sums(:)
  real(8) :: total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n, np), r(n, np), x(n, np), sums(np))
  s = me
  x = 1
  sums = 0
  total = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Alltoall(s, n, MPI_DOUBLE_PRECISION, r, n, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  do p = 1, np
    do i = 1, n
      x(i,p) = x(i,p) + sqrt(r(i,p))
    end do
  end do
  print *, me, sum(x), sum(sums) + total
  call MPI_Finalize(ierr)
end program exchange
