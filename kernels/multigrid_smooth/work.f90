!> How strongly a smoother works.
module weights
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: weigh

contains

  !> The weights w(n) of points with residuals r(n) in time step `step`: large residuals are damped.
  pure subroutine weigh(n, step, r, w)
    integer, intent(in) :: n, step
    real(real64), intent(in) :: r(n)
    real(real64), intent(out) :: w(n)
    integer :: i

    do i = 1, n
      w(i) = 0.25_real64/sqrt(1 + r(i)**2/step)
    end do
  end subroutine weigh

end module weights
