! Exchanges in which each pair of ranks has elements of its own, scattered over the planes of two
! arrays: a loop fills the planes of the one, another one works on those of the other.
module exchanges
  use mpi
  implicit none
contains
  subroutine exchange(n, m, l, k, np, comm, s, r, x, y, out, from, kinds, in, to, forms)
    integer, intent(in) :: n, m, l, k, np, comm
    real(8), intent(inout) :: s(n,0:m), r(l,k), x(l,k), y(n,0:m)
    integer, intent(in) :: out(np), from(np), kinds(np), in(np), to(np), forms(np)
    integer :: i, j, ierr

    do j = 0, m
      do i = 1, n
        s(i,j) = 0.5d0*y(i,j) + sin(dble(i + 3*j))
      end do
    end do
    call MPI_Alltoallw(s, out, from, kinds, r, in, to, forms, comm, ierr)
    do j = 1, k
      do i = 1, l
        x(i,j) = 0.5d0*x(i,j) + cos(r(i,j))
        r(i,j) = -r(i,j)
      end do
    end do
  end subroutine exchange
end module exchanges

program random_types
  use exchanges
  implicit none
  integer, parameter :: least = 2
  integer :: n, m, l, k, np, me, ierr, p, q, turn, seed, first, e
  integer, allocatable :: out(:), from(:), kinds(:), in(:), to(:), forms(:), many(:,:), places(:)
  real(8), allocatable :: s(:,:), r(:,:), x(:,:), y(:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(out(np), from(np), kinds(np), in(np), to(np), forms(np), many(np,np))
  do turn = 1, 40
    ! what all ranks know: sizes, and how many elements go from p to q
    seed = 1000 + 77*turn
    l = 1 + drawn(9)
    k = 1 + drawn(12)
    n = l + drawn(9)
    m = k + drawn(12)
    do q = 1, np
      do p = 1, np
        many(p,q) = drawn(1 + l*k/np)
        if (drawn(4) == 0) many(p,q) = 0
      end do
    end do
    seed = seed + 31*me
    allocate(s(n,0:m), r(l,k), x(l,k), y(n,0:m))
    y = me + turn
    x = me
    r = 0
    s = 0
    places = shuffled(l*k, drawn(2) == 0)
    first = 1
    do p = 1, np
      call make(places(first:first+many(p,me+1)-1), in(p), to(p), forms(p))
      first = first + many(p,me+1)
      q = drawn(n*(m + 1))
      call make([(mod(q + e, n*(m + 1)), e = 1, many(me+1,p))], out(p), from(p), kinds(p))
    end do
    do q = 1, 3
      if (mod(me + turn + q, 3) == 0) call be_late
      call exchange(n, m, l, k, np, MPI_COMM_WORLD, s, r, x, y, out, from, kinds, in, to, forms)
      y = y + sum(x)*0.001d0
    end do
    print '(i0, 1x, i0, 4z17)', turn, me, sum(s), sum(r), sum(x), sum(y)
    do p = 1, np
      if (out(p) > 0) call MPI_Type_free(kinds(p), ierr)
      if (in(p) > 0) call MPI_Type_free(forms(p), ierr)
    end do
    deallocate(s, r, x, y)
  end do
  call MPI_Finalize(ierr)

contains

  subroutine make(elements, number, begin, type)
    integer, intent(in) :: elements(:)
    integer, intent(out) :: number, begin, type
    integer :: from

    number = 0
    begin = 0
    type = MPI_DOUBLE_PRECISION
    if (size(elements) == 0) return
    number = 1
    from = drawn(5)
    begin = 8*from
    call MPI_Type_create_indexed_block(size(elements), 1, elements - from, MPI_DOUBLE_PRECISION, &
                                       type, ierr)
    call MPI_Type_commit(type, ierr)
  end subroutine make

  function shuffled(number, really) result(order)
    integer, intent(in) :: number
    logical, intent(in) :: really
    integer :: order(number), at, other

    order = [(at, at = 0, number - 1)]
    if (.not. really) return
    do at = number, least, -1
      other = 1 + drawn(at)
      order([at, other]) = order([other, at])
    end do
  end function shuffled

  integer function drawn(below)
    integer, intent(in) :: below

    seed = mod(seed*1103 + 12345, 1000003)
    drawn = mod(seed, below)
  end function drawn

  subroutine be_late
    real(8) :: now

    now = MPI_Wtime()
    do while (MPI_Wtime() < now + 0.002d0)
    end do
  end subroutine be_late
end program random_types
