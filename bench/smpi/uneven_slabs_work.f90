!> A stand-in for the smoothing of planes, with its cost charged to the simulated clock.
module smoothing
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: smooth_plane

contains

  !> Changes every element of plane(lx, ny) cheaply, after `charge` thousand operations.
  subroutine smooth_plane(lx, ny, plane)
    integer, intent(in) :: lx, ny
    real(real64), intent(inout) :: plane(lx, ny)
    include 'charge.inc'
    external :: smpi_execute_flops

    if (charge > 0) call smpi_execute_flops(1.0e3_real64*charge)
    plane = 1 - plane
  end subroutine smooth_plane

end module smoothing
