!> What an iteration computes before the exchange, its cost charged to the simulated clock.
module work
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: compute
  include 'cases.inc'
  include 'charges.inc'

contains

  !> The amplitude of plane `z` in time step `step` of case `number`.
  subroutine compute(number, z, step, amplitude)
    integer, intent(in) :: number, z, step
    real(real64), intent(out) :: amplitude
    external :: smpi_execute_flops

    if (charges(number) > 0) call smpi_execute_flops(charges(number))
    amplitude = 1 + real(mod(7*number + 13*z + 5*step, 97), real64)/97
  end subroutine compute

end module work
