!> How strongly a plane is driven, with the cost of the plane charged to the simulated clock.
module drives
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: plane_drive

contains

  !> A cheap amplitude of plane `k` in time step `step` on rank `me`, after `charge` thousand
  !> operations.
  subroutine plane_drive(k, step, me, amplitude)
    integer, intent(in) :: k, step, me
    real(real64), intent(out) :: amplitude
    include 'charge.inc'
    external :: smpi_execute_flops

    if (charge > 0) call smpi_execute_flops(1.0e3_real64*charge)
    amplitude = 1 + real(mod(k + 5*step + 17*me, 97), real64)/97
  end subroutine plane_drive

end module drives
