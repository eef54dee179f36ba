program main
  use mpi
  use ring, only: left, right
  use showing, only: show
  use solver
  implicit none
  integer, parameter :: n = 6
  real(dp) :: v(-1:n, 2:5), m(4, 0:3), x(8), g(5, 0:n+1, 2)
  integer :: me, np, ierr, nx, next, last
  common /neigh/ nx, next, last
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  call fill(v, size(v))
  call planes(v, n, 3)
  call fill(m, size(m))
  call columns(m)
  call shapes(m)
  call requests(m)
  call fill(x, size(x))
  call values(x, size(x))
  nx = n
  next = merge(me + 1, MPI_PROC_NULL, me + 1 < np)
  last = merge(me - 1, MPI_PROC_NULL, me > 0)
  call fill(g, size(g))
  call sweep(g, 2)
  call show('sweep', [g(:, :, 2)])
  call MPI_Finalize(ierr)
contains
  subroutine fill(a, n)
    integer, intent(in) :: n
    real(dp), intent(out) :: a(n)
    integer :: i
    do i = 1, n
      a(i) = sin(i + 10d0*me)
    end do
  end subroutine fill
end program main
