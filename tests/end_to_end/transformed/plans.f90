!> The type of the buffers of `storage.f90`, in a module of its own.
module plans
  implicit none
  integer, parameter :: width = 3
  type :: buffers
    real(8), allocatable :: send(:,:,:), recv(:,:,:)
  end type buffers
  type :: plan
    type(buffers) :: b
    integer :: nz, count
    real(8) :: pack(width,8,4), unpack(width,8,4)
    real(8), pointer :: elsewhere(:) => null()
  end type plan
end module plans
