!> A stand-in for the flow of heat, with its cost charged to the simulated clock.
module conduction
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: gain
  include 'charge.inc'
  integer, parameter :: at_once = 1000
  integer, save :: owed = 0

contains

  !> What a cell gains, cheaply: each costs `charge` operations, charged `at_once` or more at a time.
  real(real64) function gain(here, west, east, south, north)
    real(real64), intent(in) :: here, west, east, south, north
    external :: smpi_execute_flops

    owed = owed + charge
    if (owed >= at_once) then
      call smpi_execute_flops(real(owed, real64))
      owed = 0
    end if
    gain = ((west - here) + (east - here) + (south - here) + (north - here))/8
  end function gain

end module conduction
