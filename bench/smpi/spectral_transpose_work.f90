!> Stand-ins for the Fourier transforms, with their cost charged to the simulated clock.
module fourier
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: fft_lines, fft_plane

contains

  !> Changes every element of plane(nx, ny) cheaply, after `charge` thousand operations.
  subroutine fft_plane(nx, ny, plane)
    integer, intent(in) :: nx, ny
    complex(real64), intent(inout) :: plane(nx, ny)
    include 'charge.inc'
    external :: smpi_execute_flops

    if (charge > 0) call smpi_execute_flops(1.0e3_real64*charge)
    plane = conjg(plane) + 1
  end subroutine fft_plane

  !> Changes every element cheaply, after `charge_after` thousand operations.
  subroutine fft_lines(n, count, lines)
    integer, intent(in) :: n, count
    complex(real64), intent(inout) :: lines(n, count)
    include 'charge.inc'
    external :: smpi_execute_flops

    if (charge_after > 0) call smpi_execute_flops(1.0e3_real64*charge_after)
    lines = conjg(lines)
  end subroutine fft_lines

end module fourier
