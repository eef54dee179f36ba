!> What a plane starts from, with the cost of its work charged to the simulated clock: more or
!> less of it by chance, as on machines that do other things too.
module seeds
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: seed_plane

contains

  !> Cheap seeds of plane `z` in time step `step` on rank `me`, after `charge` thousand operations
  !> and up to `noise` thousandths more; `seed` names the run.
  subroutine seed_plane(na, z, step, me, aux)
    integer, intent(in) :: na, z, step, me
    real(real64), intent(out) :: aux(na)
    include 'charge.inc'
    external :: smpi_execute_flops
    integer(int64), parameter :: prime = 2147483647
    integer(int64) :: drawn
    integer :: i

    drawn = 0
    if (noise > 0) then
      drawn = 7919_int64*z + 104729_int64*me + 1299709_int64*seed + 15485863_int64*step
      do i = 1, 3
        drawn = mod(48271_int64*mod(drawn, prime) + 11, prime)
      end do
    end if
    if (charge > 0) call smpi_execute_flops(charge*(1.0e3_real64 + noise*drawn/real(prime, real64)))
    do i = 1, na
      aux(i) = real(mod(i + 13*z + 7*step + 31*me, 101), real64)/101
    end do
  end subroutine seed_plane

end module seeds
