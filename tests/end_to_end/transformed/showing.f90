!> Prints, on rank 0, a hash of what every rank has: one line a case.
module showing
  use mpi
  implicit none
  private
  public :: show, show_integers, show_bits
  integer, parameter :: long = selected_int_kind(18)
contains

  subroutine show(name, values, n)
    character(*), intent(in) :: name
    integer, intent(in) :: n
    real(8), intent(in) :: values(n)
    call show_bits(name, [transfer(values, [0_long])])
  end subroutine show

  subroutine show_integers(name, values, n)
    character(*), intent(in) :: name
    integer, intent(in) :: n
    integer, intent(in) :: values(n)
    call show_bits(name, int(values, long))
  end subroutine show_integers

  subroutine show_bits(name, bits)
    character(*), intent(in) :: name
    integer(long), intent(in) :: bits(:)
    integer(long) :: hash
    integer(long), allocatable :: hashes(:)
    integer :: i, np, me, ierr
    hash = size(bits)
    do i = 1, size(bits)
      hash = ieor(ishftc(hash, 7), bits(i))
    end do
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    allocate(hashes(np))
    call MPI_Gather(hash, 8, MPI_BYTE, hashes, 8, MPI_BYTE, 0, MPI_COMM_WORLD, ierr)
    if (me == 0) print '(a,t28,*(1x,z16.16))', name, hashes
  end subroutine show_bits

end module showing
