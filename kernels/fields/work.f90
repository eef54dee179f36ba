!> How shallow water moves: what a point gains in a time step from the points around it.
module shallow_water
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: faster, higher, smoother
  real(real64), parameter :: gravity = 0.05_real64, depth = 0.04_real64

contains

  !> What a speed gains: the slope of the surface drives the water, and speed is carried along.
  pure real(real64) function faster(here, behind, ahead, low, high)
    real(real64), intent(in) :: here, behind, ahead, low, high

    faster = -gravity*(high - low) - 0.01_real64*here*(ahead - behind)
  end function faster

  !> What the surface gains: more water flows in than out.
  pure real(real64) function higher(west, east, south, north)
    real(real64), intent(in) :: west, east, south, north

    higher = -depth*((east - west) + (north - south))
  end function higher

  !> What the surface gains as short waves are damped.
  pure real(real64) function smoother(here, west, east, south, north)
    real(real64), intent(in) :: here, west, east, south, north

    smoother = 0.02_real64*(west + east + south + north - 4*here)
  end function smoother

end module shallow_water
