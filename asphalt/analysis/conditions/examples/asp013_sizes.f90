module sizes
  implicit none
  integer, parameter :: n = 3, nz = 8
end module sizes
