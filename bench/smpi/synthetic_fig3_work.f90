!> What a plane starts from, with the cost of its work charged to the simulated clock.
module seeds
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: seed_plane

contains

  !> Cheap seeds of plane `z` in time step `step` on rank `me`, after `charge` thousand operations.
  subroutine seed_plane(na, z, step, me, aux)
    integer, intent(in) :: na, z, step, me
    real(real64), intent(out) :: aux(na)
    include 'charge.inc'
    external :: smpi_execute_flops
    integer :: i

    if (charge > 0) call smpi_execute_flops(1.0e3_real64*charge)
    do i = 1, na
      aux(i) = real(mod(i + 13*z + 7*step + 31*me, 101), real64)/101
    end do
  end subroutine seed_plane

end module seeds
