! What "asphalt calibrate" times: loops over arrays that fit into the first cache, each with other
! operations.  All have the same arguments: real a to d (b, c between 1/2 and 3/2, d between -8 and
! 8), integers k, l (l between 1 and n, in no order), complex z, w.  What is called busy_* keeps the
! processor busy, what is called wait_* waits for one result after the other, and in what is called
! window_* a turn is so long that few turns overlap.  What is called line_* goes through an array of
! 137 MB, which fits into no cache, and conflict_* through lines that fall into one set of the first
! cache, or into two, where its lines recur every 4096 bytes.  No loop copies or fills an array
! alone, since compilers make calls of memcpy and memset of such loops.
module calibration
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  public
  interface
    ! one element in each column; a procedure of another file, so that all is done
    subroutine touch(x, value)
      import :: real64
      real(real64), intent(inout) :: x(:,:)
      real(real64), intent(in) :: value
    end subroutine touch
  end interface
  ! of more columns than a core's own caches have lines, each on other pages
  integer, parameter :: rows = 64, columns = 33000
  real(real64), private :: sheet(520, columns), strip(columns, rows)
  ! columns of a power of two fall into one set of the first cache, or into few
  integer, parameter :: crossed = 128
  real(real64), private :: one_set(512, crossed), sets(256, crossed), rest(crossed, rows)

contains

  subroutine busy_add(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i) + 0.3_real64
    end do
  end subroutine busy_add

  subroutine busy_fill(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = i
    end do
  end subroutine busy_fill

  subroutine busy_two_adds(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i) + 0.3_real64
      d(i) = c(i) - 0.3_real64
    end do
  end subroutine busy_two_adds

  subroutine busy_sum(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i) + c(i)
    end do
  end subroutine busy_sum

  subroutine busy_triad(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i) + 0.3_real64*c(i)
    end do
  end subroutine busy_triad

  subroutine busy_stencil(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 2, n - 1
      a(i) = 0.3_real64*(b(i - 1) + b(i + 1) + c(i)) - b(i)
    end do
  end subroutine busy_stencil

  subroutine busy_plane(n, side, a, b, c, d, k, l, z, w)
    include 'plane.inc'
    do j = 2, side - 1
      do i = 2, side - 1
        a(i, j) = 0.2_real64*(b(i - 1, j) + b(i + 1, j) + b(i, j - 1) + b(i, j + 1)) + c(i, j)
      end do
    end do
  end subroutine busy_plane

  subroutine busy_update(n, side, a, b, c, d, k, l, z, w)
    include 'plane.inc'
    do j = 2, side
      do i = 1, side
        a(i, j) = a(i, j) + 0.3_real64*(b(i, j - 1) - a(i, j))
      end do
    end do
  end subroutine busy_update

  subroutine busy_polynomial(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = (((0.1_real64*b(i) + 0.2_real64)*b(i) + 0.3_real64)*b(i) + 0.4_real64)*b(i) + c(i)
    end do
  end subroutine busy_polynomial

  subroutine busy_products(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i)*c(i)*d(i)*0.3_real64
    end do
  end subroutine busy_products

  subroutine busy_divide(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i)/c(i)
    end do
  end subroutine busy_divide

  subroutine busy_divide_by_one(n, side, a, b, c, d, k, l, z, w)
    include 'plane.inc'
    do j = 1, side
      do i = 1, side
        a(i, j) = a(i, j) + 0.3_real64*(b(i, j) - a(i, j))/j
      end do
    end do
  end subroutine busy_divide_by_one

  subroutine busy_sqrt(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = sqrt(b(i))
    end do
  end subroutine busy_sqrt

  subroutine busy_exp(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = exp(d(i))
    end do
  end subroutine busy_exp

  subroutine busy_log(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = log(b(i))
    end do
  end subroutine busy_log

  subroutine busy_sin(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = sin(d(i))
    end do
  end subroutine busy_sin

  subroutine busy_cos(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = cos(d(i))
    end do
  end subroutine busy_cos

  subroutine busy_tan(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = tan(d(i))
    end do
  end subroutine busy_tan

  subroutine busy_atan(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = atan(d(i))
    end do
  end subroutine busy_atan

  subroutine busy_sinh(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = tanh(d(i))
    end do
  end subroutine busy_sinh

  subroutine busy_special(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = erf(d(i))
    end do
  end subroutine busy_special

  subroutine busy_power(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(i)**c(i)
    end do
  end subroutine busy_power

  subroutine busy_integers(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      k(i) = ieor(3*l(i) + i, ishft(l(i), -3))
    end do
  end subroutine busy_integers

  subroutine busy_integer_divide(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      k(i) = 100*i/l(i)
    end do
  end subroutine busy_integer_divide

  subroutine busy_mod(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      k(i) = mod(7*i, l(i)) + mod(i + 5, 11)
    end do
  end subroutine busy_mod

  subroutine busy_convert(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = l(i)*b(i)
    end do
  end subroutine busy_convert

  subroutine busy_truncate(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      k(i) = int(d(i))
    end do
  end subroutine busy_truncate

  subroutine busy_across(n, side, a, b, c, d, k, l, z, w)
    include 'plane.inc'
    do i = 1, side
      do j = 1, side
        a(j, i) = b(i, j)
      end do
    end do
  end subroutine busy_across

  subroutine busy_across_stores(n, side, a, b, c, d, k, l, z, w)
    include 'plane.inc'
    do i = 1, side
      do j = 1, side
        a(i, j) = b(j, i) + c(i, j)
      end do
    end do
  end subroutine busy_across_stores

  subroutine busy_gather(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = b(l(i)) + c(l(i))
    end do
  end subroutine busy_gather

  subroutine busy_scatter(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(l(i)) = b(i)
    end do
  end subroutine busy_scatter

  subroutine busy_complex(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      z(i) = w(i)*w(n + 1 - i)
    end do
  end subroutine busy_complex

  subroutine busy_complex_sum(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      z(i) = w(i) + 0.3_real64*w(n + 1 - i)
    end do
  end subroutine busy_complex_sum

  subroutine busy_short_loops(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: four, j
    four = k(1)
    do i = 1, n/4
      do j = 1, four
        a(4*i + j - 4) = b(4*i + j - 4) + c(4*i + j - 4)
      end do
    end do
  end subroutine busy_short_loops

  subroutine busy_shorter_loops(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: two, j
    two = k(2)
    do i = 1, n/2
      do j = 1, two
        a(2*i + j - 2) = b(2*i + j - 2) + c(2*i + j - 2)
      end do
    end do
  end subroutine busy_shorter_loops

  subroutine busy_branches(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      if (l(i) > 0) a(i) = b(i)
      if (l(i) > n) b(i) = c(i)
    end do
  end subroutine busy_branches

  ! other decisions in each call, so that no processor learns them
  subroutine busy_decisions(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: shift
    k(4) = mod(k(4), n/4) + 1
    shift = k(4)
    do i = 1, n/2
      if (b(i) < c(i + shift)) then
        a(i) = 0.3_real64*c(i)
      else
        z(i) = w(i)
      end if
    end do
  end subroutine busy_decisions

  subroutine busy_calls(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    external :: asphalt_called
    do i = 1, n
      call asphalt_called(a(i))
    end do
  end subroutine busy_calls

  subroutine wait_add(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 0
    do i = 1, n
      x = x + b(i)
    end do
    a(1) = x
  end subroutine wait_add

  subroutine wait_multiply(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = b(i)*(c(i)*x)
    end do
    a(1) = x
  end subroutine wait_multiply

  subroutine wait_divide(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = b(i)/x
    end do
    a(1) = x
  end subroutine wait_divide

  subroutine wait_sqrt(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = sqrt(x + b(i))
    end do
    a(1) = x
  end subroutine wait_sqrt

  subroutine wait_sin(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = sin(x + b(i))
    end do
    a(1) = x
  end subroutine wait_sin

  subroutine wait_exp(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = exp(b(i) - x)
    end do
    a(1) = x
  end subroutine wait_exp

  subroutine wait_log(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = log(x*x + b(i))
    end do
    a(1) = x
  end subroutine wait_log

  subroutine wait_tan(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = tan(x + b(i))
    end do
    a(1) = x
  end subroutine wait_tan

  subroutine wait_atan(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = atan(x + b(i))
    end do
    a(1) = x
  end subroutine wait_atan

  subroutine wait_sinh(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = tanh(x + b(i))
    end do
    a(1) = x
  end subroutine wait_sinh

  subroutine wait_special(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = erf(x + b(i))
    end do
    a(1) = x
  end subroutine wait_special

  subroutine wait_power(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    x = 1
    do i = 1, n
      x = x**c(i) + b(i)
    end do
    a(1) = x
  end subroutine wait_power

  subroutine wait_load(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    m = 1
    do i = 1, n
      m = l(m)
    end do
    k(3) = m
  end subroutine wait_load

  subroutine wait_integer(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    m = 1
    do i = 1, n
      m = ieor(m + 5, l(i)) + 3
    end do
    k(3) = m
  end subroutine wait_integer

  subroutine wait_integer_divide(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    m = 1
    do i = 1, n
      m = 1000000/(m + l(i))
    end do
    k(3) = m
  end subroutine wait_integer_divide

  subroutine wait_convert(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    m = 1
    do i = 1, n
      m = int(m + b(i))
    end do
    k(3) = m
  end subroutine wait_convert

  subroutine wait_store(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 2, n
      a(i) = a(max(i - 1, k(1) - 2)) + b(i)
    end do
  end subroutine wait_store

  subroutine window_roots(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = sqrt(sqrt(sqrt(b(i)/c(i)) + 1) + b(i))
    end do
  end subroutine window_roots

  subroutine window_sin(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      m = mod(i + 5, side)
      a(i) = sin(b(1 + m))
    end do
  end subroutine window_sin

  subroutine window_exp(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      m = mod(7*i, side)
      a(i) = exp(b(1 + m)/c(i))
    end do
  end subroutine window_exp

  subroutine window_functions(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = log(1 + exp(-cos(b(i))))
    end do
  end subroutine window_functions

  subroutine window_remainders(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      m = mod(i + 5, side)
      x = exp(b(1 + m))
      a(i) = log(x + exp(c(1 + mod(3*i + m, side))))/(x + 1)
    end do
  end subroutine window_remainders

  subroutine window_powers(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    do i = 1, n
      a(i) = (b(i)**c(i) + 1)**b(i)
    end do
  end subroutine window_powers

  ! writes each page of the array before any loop reads it: what was never written is one page
  subroutine line_stores(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, columns
        sheet(i, j) = 0.3_real64*strip(j, i)
      end do
    end do
  end subroutine line_stores

  subroutine line_loads(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, columns
        strip(j, i) = 0.3_real64*sheet(i, j)
      end do
    end do
  end subroutine line_loads

  subroutine conflict_stores(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, crossed
        one_set(i, j) = 0.3_real64*rest(j, i)
      end do
    end do
  end subroutine conflict_stores

  subroutine conflict_loads(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, crossed
        rest(j, i) = 0.3_real64*one_set(i, j)
      end do
    end do
  end subroutine conflict_loads

  subroutine conflict_stores_2(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, crossed
        sets(i, j) = 0.3_real64*rest(j, i)
      end do
    end do
  end subroutine conflict_stores_2

  subroutine conflict_loads_2(n, side, a, b, c, d, k, l, z, w)
    include 'arguments.inc'
    integer :: j
    do i = 1, rows
      do j = 1, crossed
        rest(j, i) = 0.3_real64*sets(i, j)
      end do
    end do
  end subroutine conflict_loads_2

  ! seconds of the first touch of a page, beyond those of the next: of 40 MB, which no C library keeps
  real(real64) function first_touch()
    integer, parameter :: words = 512, pages = 10240
    real(real64), allocatable :: fresh(:,:)
    real(real64) :: at(3)

    allocate(fresh(words, pages))
    call cpu_time(at(1))
    call touch(fresh, 1.0_real64)
    call cpu_time(at(2))
    call touch(fresh, 2.0_real64)
    call cpu_time(at(3))
    first_touch = max(0.0_real64, at(2) - at(1) - (at(3) - at(2)))/pages
  end function first_touch

end module calibration
