!> What every kernel prints: one hash a rank of all that the rank has received, and the time.
!>
!> The hash is exact and depends on the order: it works on the bits of each element, with a
!> full-period shift register between two elements, so that no two elements can change places.
module results
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
  use mpi
  implicit none
  private
  public :: mix_complex, mix_reals, report

contains

  !> Continues `hash` with the bits of `values`, in order.
  subroutine mix_reals(count, values, hash)
    integer, intent(in) :: count
    real(real64), intent(in) :: values(count)
    integer(int64), intent(inout) :: hash
    integer :: i

    do i = 1, count
      call mix_bits(transfer(values(i), hash), hash)
    end do
  end subroutine mix_reals

  !> Continues `hash` with the bits of `values`, real part first.
  subroutine mix_complex(count, values, hash)
    integer, intent(in) :: count
    complex(real64), intent(in) :: values(count)
    integer(int64), intent(inout) :: hash
    integer :: i

    do i = 1, count
      call mix_bits(transfer(real(values(i), real64), hash), hash)
      call mix_bits(transfer(aimag(values(i)), hash), hash)
    end do
  end subroutine mix_complex

  !> One step of a 64-bit xorshift register, then the next element.
  pure subroutine mix_bits(bits, hash)
    integer(int64), intent(in) :: bits
    integer(int64), intent(inout) :: hash

    hash = ieor(hash, ishft(hash, 13))
    hash = ieor(hash, ishft(hash, -7))
    hash = ieor(hash, ishft(hash, 17))
    hash = ieor(hash, bits)
  end subroutine mix_bits

  !> Prints the hashes of all ranks in rank order to standard output and the longest time of
  !> any rank, in seconds, to standard error, when the hashes have left; collective over `comm`.
  subroutine report(name, comm, hash, elements, seconds)
    character(*), intent(in) :: name
    integer, intent(in) :: comm
    integer(int64), intent(in) :: hash, elements
    real(real64), intent(in) :: seconds
    integer(int64), allocatable :: hashes(:)
    integer(int64) :: own(2)
    real(real64) :: longest
    integer :: me, np, rank, ierr

    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, np, ierr)
    allocate(hashes(2*np))
    own = [hash, elements]
    call MPI_Gather(own, 2, MPI_INTEGER8, hashes, 2, MPI_INTEGER8, 0, comm, ierr)
    call MPI_Reduce(seconds, longest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, ierr)
    if (me == 0) then
      do rank = 0, np - 1
        print '(a, " rank ", i0, " received ", i0, " hash ", z16.16)', &
          name, rank, hashes(2*rank + 2), hashes(2*rank + 1)
      end do
      flush (output_unit)
      write (error_unit, '("seconds ", es22.15)') longest
    end if
  end subroutine report

end module results
