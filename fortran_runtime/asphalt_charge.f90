! What charged programs call: the time of their computation goes to the clock of the simulation.
!
! External procedures without interfaces, in a file of their own: SMPI's MPI module declares
! smpi_execute_flops, which would clash here, and files in fixed form call them as well.
!
! Charges add up in memory and reach the clock before the next call that may communicate, so that a
! charge costs the simulation no more than an addition.  ASPHALT_CHARGE in the environment is a
! factor for all charges: 0 leaves communication alone.

!> Adds the time of some computation, in seconds on the machine that was calibrated.  In a parallel
!> region of OpenMP only the first thread counts.
subroutine asphalt_charge(seconds)
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(in) :: seconds
  real(real64) :: pending
  common /asphalt_pending/ pending

!$ if (omp_get_thread_num() /= 0) return
  pending = pending + seconds
end subroutine asphalt_charge


!> Lets the clock of the simulation pass what has been charged since the last time.
subroutine asphalt_charge_now()
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), parameter :: flops_a_second = 1e9_real64
  real(real64), save :: factor = -1
  real(real64) :: pending, flops
  common /asphalt_pending/ pending
  character(len=64) :: text
  integer :: status
  external :: smpi_execute_flops

!$ if (omp_get_thread_num() /= 0) return
  if (pending <= 0) return
  if (factor < 0) then
    factor = 1
    call get_environment_variable('ASPHALT_CHARGE', text, status=status)
    if (status == 0) read (text, *, iostat=status) factor
    if (status > 0) factor = 1
  end if
  flops = pending*factor*flops_a_second
  pending = 0
  if (flops > 0) call smpi_execute_flops(flops)
end subroutine asphalt_charge_now


block data asphalt_charges
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64) :: pending
  common /asphalt_pending/ pending
  data pending /0/
end block data asphalt_charges
