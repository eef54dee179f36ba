! Prints, on rank 0, a hash of what every rank has in an array: one line a call.
subroutine fz_hash(name, bits, n)
  use mpi
  implicit none
  integer, parameter :: long = selected_int_kind(18)
  character(*), intent(in) :: name
  integer, intent(in) :: n
  integer(1), intent(in) :: bits(n)
  integer(long) :: hash, hashes(0:63)
  integer :: i, np, me, ierr
  hash = n
  do i = 1, n
    hash = ieor(ishftc(hash, 7), int(bits(i), long))
  end do
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Gather(hash, 8, MPI_BYTE, hashes, 8, MPI_BYTE, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print '(a,t28,*(1x,z16.16))', name, hashes(0:np-1)
end subroutine fz_hash

subroutine fz_real8(name, a, n)
  implicit none
  character(*), intent(in) :: name
  integer, intent(in) :: n
  real(8), intent(in) :: a(n)
  call fz_hash(name, transfer(a, [0_1]), 8*n)
end subroutine fz_real8

subroutine fz_integer(name, a, n)
  implicit none
  character(*), intent(in) :: name
  integer, intent(in) :: n
  integer, intent(in) :: a(n)
  call fz_hash(name, transfer(a, [0_1]), 4*n)
end subroutine fz_integer

subroutine fz_complex(name, a, n)
  implicit none
  character(*), intent(in) :: name
  integer, intent(in) :: n
  complex(8), intent(in) :: a(n)
  call fz_hash(name, transfer(a, [0_1]), 16*n)
end subroutine fz_complex

subroutine fz_real4(name, a, n)
  implicit none
  character(*), intent(in) :: name
  integer, intent(in) :: n
  real, intent(in) :: a(n)
  call fz_hash(name, transfer(a, [0_1]), 4*n)
end subroutine fz_real4
