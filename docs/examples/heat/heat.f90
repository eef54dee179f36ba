! The heat equation on a plate, in strips of columns: one strip for each rank.
program heat
  use mpi
  implicit none
  integer, parameter :: nx = 1000, ny = 500, steps = 20
  double precision :: old(nx, 0:ny + 1), new(nx, 0:ny + 1), total, whole
  integer :: i, j, step, me, ranks, left, right, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = me - 1
  if (me == 0) left = MPI_PROC_NULL
  right = me + 1
  if (me == ranks - 1) right = MPI_PROC_NULL

  do j = 0, ny + 1
    do i = 1, nx
      old(i, j) = merge(100d0, 0d0, i == 1)
      new(i, j) = old(i, j)
    end do
  end do

  do step = 1, steps
    call MPI_Sendrecv(old(1, ny), nx, MPI_DOUBLE_PRECISION, right, 1, &
                      old(1, 0), nx, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(old(1, 1), nx, MPI_DOUBLE_PRECISION, left, 2, &
                      old(1, ny + 1), nx, MPI_DOUBLE_PRECISION, right, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do j = 1, ny
      do i = 2, nx - 1
        new(i, j) = 0.25d0*(old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
      end do
    end do
    do j = 1, ny
      do i = 2, nx - 1
        old(i, j) = new(i, j)
      end do
    end do
  end do

  total = 0
  do j = 1, ny
    do i = 1, nx
      total = total + old(i, j)
    end do
  end do
  call MPI_Reduce(total, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a, f12.3)', 'heat in the plate: ', whole
  call MPI_Finalize(ierr)
end program heat
