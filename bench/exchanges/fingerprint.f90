!> A fingerprint of what a rank has received.
module fingerprint
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: mix

contains

  !> Continues `hash` with the bits of `values`, in order.
  subroutine mix(count, values, hash)
    integer, intent(in) :: count
    real(real64), intent(in) :: values(count)
    integer(int64), intent(inout) :: hash
    integer :: i

    do i = 1, count
      hash = ieor(ishftc(hash, 7), transfer(values(i), hash))
    end do
  end subroutine mix

end module fingerprint
