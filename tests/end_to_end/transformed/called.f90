!> Planes that called procedures compute, with dummies of other shapes.
module planes
  implicit none
  integer :: computed = 0
  real(8), allocatable :: outgoing(:,:,:), incoming(:,:,:)

  interface compute
    module procedure compute_real, compute_integer
  end interface compute
contains

  !> A column of every block, through one more procedure.
  subroutine compute_plane(s, n, nz, np, z, me)
    integer, intent(in) :: n, nz, np, z, me
    real(8), intent(inout) :: s(n, nz, np)
    call compute_all(s, n, nz, np, z, me)
  end subroutine compute_plane

  subroutine compute_all(s, rows, columns, blocks, z, me)
    integer, intent(in) :: rows, columns, blocks, z, me
    real(8), intent(inout) :: s(rows, columns, blocks)
    integer :: i, p
    do p = 1, blocks
      do i = 1, rows
        s(i,z,p) = sqrt(dble(i + 7*z + 100*p + 1000*me))
      end do
    end do
  end subroutine compute_all

  subroutine compute_real(x, n, seed)
    integer, intent(in) :: n, seed
    real(8), intent(out) :: x(0:n-1)
    integer :: i
    do i = 0, n - 1
      x(i) = seed + 0.25d0*i
    end do
  end subroutine compute_real

  subroutine compute_integer(x, n, seed)
    integer, intent(in) :: n, seed
    integer, intent(out) :: x(0:n-1)
    integer :: i
    do i = 0, n - 1
      x(i) = seed + i
    end do
  end subroutine compute_integer

  subroutine assumed_shape(x, seed)
    real(8), intent(out) :: x(:,:)
    integer, intent(in) :: seed
    integer :: i, p
    do p = 1, size(x, 2)
      do i = 1, size(x, 1)
        x(i,p) = seed + i/3d0 + p
      end do
    end do
  end subroutine assumed_shape

  recursive subroutine halves(x, first, last, seed)
    integer, intent(in) :: first, last, seed
    real(8), intent(inout) :: x(last)
    if (first == last) then
      x(first) = seed*first
    else if (first < last) then
      call halves(x, first, (first + last)/2, seed)
      call second_half(x, first, last, seed)
    end if
  end subroutine halves

  recursive subroutine second_half(x, first, last, seed)
    integer, intent(in) :: first, last, seed
    real(8), intent(inout) :: x(last)
    call halves(x, (first + last)/2 + 1, last, seed)
  end subroutine second_half

  subroutine compute_outgoing(z)
    integer, intent(in) :: z
    integer :: i, p
    computed = computed + 1
    do p = 1, size(outgoing, 3)
      do i = 1, size(outgoing, 1)
        outgoing(i,z,p) = 10*z + i + p + computed
      end do
    end do
  end subroutine compute_outgoing

end module planes

!> Some elements from the first one on.
subroutine run_of_elements(x, count, seed)
  implicit none
  integer, intent(in) :: count, seed
  real(8), intent(out) :: x(*)
  integer :: i
  do i = 1, count
    x(i) = seed + i*0.5d0
  end do
end subroutine run_of_elements

!> The same elements as a matrix.
subroutine matrix(x, rows, columns, seed)
  implicit none
  integer, intent(in) :: rows, columns, seed
  real(8), intent(out) :: x(rows, columns)
  integer :: i, j
  do j = 1, columns
    do i = 1, rows
      x(i,j) = seed*i - j
    end do
  end do
end subroutine matrix

subroutine doubled(x, y, n)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y(n)
  integer :: i
  do i = 1, n
    y(i) = 2*x(i) + x(n+1-i)
  end do
end subroutine doubled

!> Fills the work array of a COMMON block.
subroutine to_common(n, seed)
  implicit none
  integer, intent(in) :: n, seed
  real(8) :: column(16)
  integer :: calls, i
  common /scratch/ column, calls
  calls = calls + 1
  do i = 1, n
    column(i) = seed*i
  end do
end subroutine to_common

subroutine through_calls(n, nz, np, me)
  use mpi
  use planes
  use showing, only: show
  implicit none
  integer, intent(in) :: n, nz, np, me
  real(8) :: s(n, nz, np), r(n, nz, np)
  integer :: z, p, ierr
  external :: run_of_elements

  do z = 1, nz
    call compute_plane(s, n, nz, np, z, me)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('two levels', r, size(r))

  do z = 1, nz
    do p = 1, np
      call run_of_elements(s(1,z,p), n, z + 10*p + 100*me)
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('run', r, size(r))

  do z = 1, nz
    do p = 1, np
      call compute(s(:,z,p), n, z + p + me)
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('generic', r, size(r))

  do z = 1, nz
    call assumed_shape(s(:,z,:), z + 10*me)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('assumed shape', r, size(r))

  do z = 1, nz
    do p = 1, np
      call halves(s(:,z,p), 1, n, z + p)
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('recursion', r, size(r))

  do z = 1, nz
    call inside(z)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('internal', r, size(r))
contains
  subroutine inside(z)
    integer, intent(in) :: z
    integer :: i, q
    do q = 1, np
      do i = 1, n
        s(i,z,q) = z*i + q*0.125d0 + me
      end do
    end do
  end subroutine inside
end subroutine through_calls

subroutine module_planes(n, nz, np)
  use mpi
  use planes
  use showing, only: show, show_integers
  implicit none
  integer, intent(in) :: n, nz, np
  integer :: z, ierr
  allocate(outgoing(n, nz, np), incoming(n, nz, np))
  do z = 1, nz
    call compute_outgoing(z)
  end do
  call MPI_Alltoall(outgoing, n*nz, MPI_DOUBLE_PRECISION, incoming, n*nz, &
                    MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  call show('module planes', incoming, size(incoming))
  call show_integers('module planes, count', [computed], 1)
  deallocate(outgoing, incoming)
end subroutine module_planes

!> Slabs: every rank begins with another one, so that the iterations must be independent.
subroutine called_slabs(n, m, nz, np, me)
  use mpi
  use showing, only: show
  implicit none
  integer, intent(in) :: n, m, nz, np, me
  real(8) :: s(n, m, nz*np), r(n, m, nz*np), work(n, m)
  integer :: z, ierr
  external :: run_of_elements, matrix, doubled

  do z = 1, nz*np
    call run_of_elements(s(1,1,z), n*m, z + me)
  end do
  call MPI_Alltoall(s, n*m*nz, MPI_DOUBLE_PRECISION, r, n*m*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('slabs by runs', r, size(r))

  do z = 1, nz*np
    call matrix(s(1,1,z), m*n, 1, z + me)
  end do
  call MPI_Alltoall(s, n*m*nz, MPI_DOUBLE_PRECISION, r, n*m*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('slabs by matrices', r, size(r))

  do z = 1, nz*np
    call matrix(work, n, m, z + 3*me)
    call doubled(work, s(1,1,z), n*m)
  end do
  call MPI_Alltoall(s, n*m*nz, MPI_DOUBLE_PRECISION, r, n*m*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('slabs by a work array', r, size(r))
end subroutine called_slabs

subroutine by_common(nz, np)
  use mpi
  use showing, only: show, show_integers
  implicit none
  integer, intent(in) :: nz, np
  integer, parameter :: n = 5
  real(8) :: column(16), s(n, nz, np), r(n, nz, np)
  integer :: calls, i, z, p, ierr
  common /scratch/ column, calls
  external :: to_common
  calls = 0
  do z = 1, nz
    do p = 1, np
      call to_common(n, z + p)
      do i = 1, n
        s(i,z,p) = column(i) + calls
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('by common', r, size(r))
  call show_integers('by common, calls', [calls], 1)
end subroutine by_common
