!> Heat that flows between the cells of a metal.
module conduction
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: gain

contains

  !> What a cell of temperature `here` gains in a time step from its four neighbours.  Metal that is
  !> warm conducts less; between two cells the harmonic mean of their conductivities counts.
  pure real(real64) function gain(here, west, east, south, north)
    real(real64), intent(in) :: here, west, east, south, north
    real(real64) :: k

    k = conductivity(here)
    gain = through(k, conductivity(west), west - here) &
           + through(k, conductivity(east), east - here) &
           + through(k, conductivity(south), south - here) &
           + through(k, conductivity(north), north - here)
  end function gain

  !> How well metal of temperature `t` conducts, between 0.1 and 0.2.
  pure real(real64) function conductivity(t)
    real(real64), intent(in) :: t

    conductivity = 0.1_real64 + 0.1_real64/(1 + 0.5_real64*t**2)
  end function conductivity

  !> The flux between cells of conductivities `one` and `other`.
  pure real(real64) function through(one, other, difference)
    real(real64), intent(in) :: one, other, difference

    through = 2*one*other/(one + other)*difference
  end function through

end module conduction
