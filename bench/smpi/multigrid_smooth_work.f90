!> A stand-in for weights, with the cost of the whole smoother charged to the simulated clock.
module weights
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: weigh
  include 'charge.inc'
  integer, parameter :: at_once = 1000
  integer, save :: owed = 0

contains

  !> Cheap weights of n points; a point costs `charge` operations, charged `at_once` or more at a
  !> time.
  subroutine weigh(n, step, r, w)
    integer, intent(in) :: n, step
    real(real64), intent(in) :: r(n)
    real(real64), intent(out) :: w(n)
    external :: smpi_execute_flops

    owed = owed + n*charge
    if (owed >= at_once) then
      call smpi_execute_flops(real(owed, real64))
      owed = 0
    end if
    w = 0.125_real64 + r/(256*step)
  end subroutine weigh

end module weights
