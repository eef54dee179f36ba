!> What an iteration computes before the exchange.
module work
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: compute

contains

  !> The amplitude of plane `z` in time step `step` of case `number`.
  subroutine compute(number, z, step, amplitude)
    integer, intent(in) :: number, z, step
    real(real64), intent(out) :: amplitude

    amplitude = 1 + real(mod(7*number + 13*z + 5*step, 97), real64)/97
  end subroutine compute

end module work
