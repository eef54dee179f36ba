module ring
  use mpi
  implicit none
  integer, parameter :: dp = kind(1d0), width = 3
  integer :: left = MPI_PROC_NULL, right = MPI_PROC_NULL
  integer, private :: hidden = 0
contains

  !> rows of a plane to the right, with other lower bounds than those of the caller
  subroutine to_the_right(a, k, n, how)
    integer, intent(in) :: k, n, how
    real(dp), intent(inout) :: a(0:n+1, 4)
    integer :: i, ierr
    integer :: status(MPI_STATUS_SIZE)
    real(dp) :: buffer(n)  ! as long as n says
    if (n < 1) return
    ! pack
    do i = 1, n
      buffer(i) = a(i, k) + &   ! a value
                  how           ! and a number
    end do
    select case (how)
    case (1)
      call MPI_Sendrecv_replace(buffer, n, MPI_DOUBLE_PRECISION, right, 1, left, 1, &
                                MPI_COMM_WORLD, status, ierr)
    case (2)
      call MPI_Sendrecv_replace(buffer, n, MPI_DOUBLE_PRECISION, left, 2, right, 2, &
                                MPI_COMM_WORLD, status, ierr)
    case default
      do i = 1, n
        if (i == 2) exit
        buffer(i) = 0.5_dp
      end do
    end select
    a(0, k) = sum(buffer)
    a(1:n, k) = a(1:n, k) + 0.25_dp*buffer
  end subroutine to_the_right

  subroutine column(c, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: c(n)
    integer :: ierr
    call MPI_Sendrecv_replace(c, n, MPI_DOUBLE_PRECISION, right, 3, left, 3, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
    c(1) = c(1) + c(n)
  end subroutine column

  subroutine shaped(x, twice, more)
    real(dp), intent(inout) :: x(0:, :)
    integer, intent(in) :: twice
    integer, intent(in), optional :: more
    integer :: ierr, j
    real(dp), allocatable :: work(:)
    if (.not. present(more)) x(0, :) = twice*x(0, :)
    allocate(work(size(x, 2)))
    do j = 1, size(x, 2)
      work(j) = x(0, j)
    end do
    call MPI_Sendrecv_replace(work, size(work), MPI_DOUBLE_PRECISION, left, 4, right, 4, &
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    x(0, :) = work
    if (present(MORE)) x(1, :) = x(1, :) + more
  end subroutine shaped

  subroutine start(x, n, request)
    integer, intent(in) :: n
    real(dp), intent(in) :: x(n)
    integer, intent(out) :: request
    integer :: ierr
    call MPI_Isend(x, n, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, request, ierr)
  end subroutine start

  subroutine finish(x, n, request)
    integer, intent(in) :: n
    real(dp), intent(out) :: x(n)
    integer, intent(inout) :: request
    integer :: ierr
    call MPI_Recv(x, n, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine finish

  subroutine counted(x, n, scale)
    integer, intent(in) :: n
    real(dp), intent(inout) :: x(*)
    real(dp), value :: scale
    integer, parameter :: first = 1, ends(2) = [first, width]
    integer :: ierr, i
    scale = scale*2
    do i = ends(1), ends(2)
      x(i) = x(i)*scale
    end do
    call MPI_Sendrecv_replace(x, n, MPI_DOUBLE_PRECISION, right, 6, left, 6, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
  end subroutine counted

end module ring

module solver
  use ring, only: dp, to_the_right, column, shaped, start, finish, counted
  use showing, only: show
  implicit none
contains

  subroutine planes(v, nx, nz)
    integer, intent(in) :: nx, nz
    real(dp), intent(inout) :: v(-1:nx, 2:5)
    integer :: k, i
    do k = 1, nz
      call to_the_right(v, k, nx, 1)  ! the first exchange
      do i = 0, nx - 1
        v(i, k + 1) = v(i, k + 1)*1.0625_dp
      end do
      if (mod(k, 2) == 0) call to_the_right(v, k, nx, 2)
    end do
    call to_the_right(v, 2, nx, 7)
    call show('planes', [v])
  end subroutine planes

  subroutine columns(m)
    real(dp), intent(inout) :: m(4, 0:3)
    integer :: j
    do j = 0, 3
      call column(m(1, j), 4)
    end do
    call show('columns', [m])
  end subroutine columns

  subroutine shapes(m)
    real(dp), intent(inout) :: m(:, 0:)
    integer :: work
    work = 3
    call shaped(m, more=work, twice=2)
    work = work + 1
    m(2, 1) = m(2, 1) + work
    call show('shapes', [m])
  end subroutine shapes

  subroutine requests(m)
    real(dp), intent(inout) :: m(4, 4)
    integer :: req(2), j, status
    status = 5
    do j = 1, 2
      call start(m(1, j), 4, req(j))
      m(:, 4) = m(:, 4) + j
      call finish(m(1, 3), 4, req(j))
    end do
    m(2, 2) = m(2, 2) + status
    call show('requests', [m])
  end subroutine requests

  subroutine values(m, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: m(n)
    real(dp) :: factor
    factor = 1.5_dp
    call counted(m, n/2 + 1, factor + 0.125_dp)
    call counted(m, n - 1, factor)
    m(1) = m(1) + factor
    call show('values', m)
  end subroutine values

end module solver
