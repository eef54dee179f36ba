!> Complex Fourier transforms of any length, one factor after the other (Stockham's order).
module fourier
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: fft_lines, fft_plane

contains

  !> Transforms plane(nx, ny) along both of its dimensions, in place.
  subroutine fft_plane(nx, ny, plane)
    integer, intent(in) :: nx, ny
    complex(real64), intent(inout) :: plane(nx, ny)
    complex(real64) :: roots(max(nx, ny)), line(ny)
    integer :: i, j

    call roots_of_unity(nx, roots)
    do j = 1, ny
      call fft(nx, roots, plane(:, j))
    end do
    call roots_of_unity(ny, roots)
    do i = 1, nx
      line = plane(i, :)
      call fft(ny, roots, line)
      plane(i, :) = line
    end do
  end subroutine fft_plane

  !> Transforms each of `count` lines of length `n`, in place.
  subroutine fft_lines(n, count, lines)
    integer, intent(in) :: n, count
    complex(real64), intent(inout) :: lines(n, count)
    complex(real64) :: roots(n)
    integer :: j

    call roots_of_unity(n, roots)
    do j = 1, count
      call fft(n, roots, lines(:, j))
    end do
  end subroutine fft_lines

  !> roots(k+1) = exp(-2 pi i k/n).
  subroutine roots_of_unity(n, roots)
    integer, intent(in) :: n
    complex(real64), intent(out) :: roots(n)
    real(real64), parameter :: circle = 8*atan(1.0_real64)
    integer :: k

    do k = 0, n - 1
      roots(k + 1) = cmplx(cos(circle*k/n), -sin(circle*k/n), real64)
    end do
  end subroutine roots_of_unity

  !> Transforms one line; `roots` are the n-th roots of unity.
  subroutine fft(n, roots, x)
    integer, intent(in) :: n
    complex(real64), intent(in) :: roots(n)
    complex(real64), intent(inout) :: x(n)
    complex(real64) :: y(n), total
    integer :: done, rest, radix, turn, angle, j, k, l, low, first

    done = 1
    rest = n
    do while (rest > 1)
      radix = smallest_factor(rest)
      rest = rest/radix
      do j = 0, n/radix - 1
        low = mod(j, done)
        first = (j - low)*radix + low + 1
        do k = 0, radix - 1
          turn = (low + k*done)*rest
          total = x(j + 1)
          angle = 0
          do l = 1, radix - 1
            angle = angle + turn
            if (angle >= n) angle = angle - n
            total = total + x(j + l*(n/radix) + 1)*roots(angle + 1)
          end do
          y(first + k*done) = total
        end do
      end do
      x = y
      done = done*radix
    end do
  end subroutine fft

  !> The smallest factor of n > 1 that is larger than 1.
  pure integer function smallest_factor(n)
    integer, intent(in) :: n

    smallest_factor = 2
    do while (mod(n, smallest_factor) /= 0)
      smallest_factor = smallest_factor + 1
    end do
  end function smallest_factor

end module fourier
