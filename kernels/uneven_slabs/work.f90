!> Recursive smoothing of the lines of a plane.
module smoothing
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: smooth_plane

contains

  !> Smooths every line plane(i, :) by a filter forth and back, eight times over.
  subroutine smooth_plane(lx, ny, plane)
    integer, intent(in) :: lx, ny
    real(real64), intent(inout) :: plane(lx, ny)
    integer :: sweep, i, j

    do sweep = 1, 8
      do j = 2, ny
        do i = 1, lx
          plane(i, j) = plane(i, j) + 0.3_real64*(plane(i, j - 1) - plane(i, j))/sweep
        end do
      end do
      do j = ny - 1, 1, -1
        do i = 1, lx
          plane(i, j) = plane(i, j) + 0.2_real64*(plane(i, j + 1) - plane(i, j))/sweep
        end do
      end do
    end do
  end subroutine smooth_plane

end module smoothing
