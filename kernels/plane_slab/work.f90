!> How strongly a plane is driven.
module drives
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: plane_drive

contains

  !> The amplitude of plane `k` in time step `step` on rank `me`: an alternating series.
  subroutine plane_drive(k, step, me, amplitude)
    integer, intent(in) :: k, step, me
    real(real64), intent(out) :: amplitude
    integer :: term

    amplitude = 1
    do term = 1, 20
      amplitude = amplitude + (-1)**term*sin(real(term*k + step, real64))/(term + me)
    end do
  end subroutine plane_drive

end module drives
