!> The waves with which the water begins, and the size of its grid.
module waves
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: first_p, first_u, first_v
  !> Metres between points, seconds of a step, and the weight of the filter.
  real(real64), parameter, public :: dx = 1.0e5_real64, dy = 1.0e5_real64, dt = 90.0_real64
  real(real64), parameter, public :: smoothing = 0.001_real64

contains

  !> The current to the east, in metres a second, in an ocean of `width` times `height` points.
  pure real(real64) function first_u(i, j, width, height)
    integer, intent(in) :: i, j, width, height

    first_u = 40*bump(i, width)*(bump(j, height) - bump(j + 1, height))
  end function first_u

  !> The current to the north.
  pure real(real64) function first_v(i, j, width, height)
    integer, intent(in) :: i, j, width, height

    first_v = 40*(bump(i + 1, width) - bump(i, width))*bump(j, height)
  end function first_v

  !> The pressure.
  pure real(real64) function first_p(i, j, width, height)
    integer, intent(in) :: i, j, width, height

    first_p = 50000 + 1000*(bump(i, width) + bump(j, height))
  end function first_p

  !> From 0 to 1 and back to 0.
  pure real(real64) function bump(i, width)
    integer, intent(in) :: i, width
    real(real64) :: s

    s = real(modulo(i, width), real64)/width
    bump = 4*s*(1 - s)
  end function bump

end module waves
