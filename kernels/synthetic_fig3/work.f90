!> What a plane starts from.
module seeds
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: seed_plane

contains

  !> The seeds of plane `z` in time step `step` on rank `me`; `aux(na)` lies between 0 and 1.
  subroutine seed_plane(na, z, step, me, aux)
    integer, intent(in) :: na, z, step, me
    real(real64), intent(out) :: aux(na)
    integer :: i

    do i = 1, na
      aux(i) = 0.5_real64 + 0.5_real64*sin(real(i*z + 7*step, real64) + 0.1_real64*me)
    end do
  end subroutine seed_plane

end module seeds
