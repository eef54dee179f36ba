!> Stand-ins for the Fourier transforms, with their cost charged to the simulated clock: more or
!> less of it by chance, as on machines that do other things too.
module fourier
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi, only: MPI_COMM_WORLD, MPI_Comm_rank
  implicit none
  private
  public :: fft_lines, fft_plane

  integer :: planes = 0 !< that this rank has transformed, where chance plays a part

contains

  !> Changes every element of plane(nx, ny) cheaply, after `charge` thousand operations and up to
  !> `noise` thousandths more; `seed` names the run.
  subroutine fft_plane(nx, ny, plane)
    integer, intent(in) :: nx, ny
    complex(real64), intent(inout) :: plane(nx, ny)
    include 'charge.inc'
    external :: smpi_execute_flops
    integer(int64), parameter :: prime = 2147483647
    integer(int64) :: drawn
    integer :: i, me, ierr

    drawn = 0
    if (noise > 0) then
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
      planes = planes + 1
      drawn = 7919_int64*planes + 104729_int64*me + 1299709_int64*seed
      do i = 1, 3
        drawn = mod(48271_int64*mod(drawn, prime) + 11, prime)
      end do
    end if
    if (charge > 0) call smpi_execute_flops(charge*(1.0e3_real64 + noise*drawn/real(prime, real64)))
    plane = conjg(plane) + 1
  end subroutine fft_plane

  !> Changes every element cheaply, after `charge_after` thousand operations.
  subroutine fft_lines(n, count, lines)
    integer, intent(in) :: n, count
    complex(real64), intent(inout) :: lines(n, count)
    include 'charge.inc'
    external :: smpi_execute_flops

    if (charge_after > 0) call smpi_execute_flops(1.0e3_real64*charge_after)
    lines = conjg(lines)
  end subroutine fft_lines

end module fourier
