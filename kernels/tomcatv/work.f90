!> The region that the mesh covers: between a body with a bump and a straight wall.
module boundary
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: first_x, first_y
  real(real64), parameter, public :: relaxation = 2.0_real64/0.98_real64

contains

  !> The first coordinate of a point before the mesh is relaxed; `width`, `height`: the last point.
  pure real(real64) function first_x(i, j, width, height)
    integer, intent(in) :: i, j, width, height
    real(real64) :: s, t

    s = real(i, real64)/width
    t = real(j, real64)/height
    first_x = s + 0.05_real64*s*(1 - s)*t*(1 - t)*mod(3*i + 5*j, 7)
  end function first_x

  !> The second coordinate.
  pure real(real64) function first_y(i, j, width, height)
    integer, intent(in) :: i, j, width, height
    real(real64) :: s, t

    s = real(i, real64)/width
    t = real(j, real64)/height
    first_y = t + 0.2_real64*s*(1 - s)*(1 - t) + 0.05_real64*s*(1 - s)*t*(1 - t)*mod(2*i + j, 5)
  end function first_y

end module boundary
