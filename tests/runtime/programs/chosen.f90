! What K is chosen to be: values that were worked out by hand, and what must hold of all of them.
program chosen
  use mpi
  use asphalt_choice, only: block_bytes, chosen_k, least_block, over, tiles
  use asphalt_core, only: int64, is_smpi
  implicit none
  integer, parameter :: good = 65536
  integer :: me, error, wrong, total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  wrong = 0
  call numbers()
  call nothing_to_gain()
  call every_block()
  call one_by_one()
  call uneven()
  call all_of_them()
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0 .and. total == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(2a)', 'FAIL ', what
  end subroutine expect

  !> K of blocks whose iterations add `piece` bytes to each.
  integer function even_k(piece, trips, grain)
    integer, intent(in) :: piece, trips, grain
    even_k = chosen_k(4, .false., .false., int(piece, int64), trips, grain)
  end function even_k

  subroutine numbers()
    integer(int64) :: bytes
    call expect(over(7_int64, 2_int64) == 4 .and. over(8_int64, 2_int64) == 4, 'rounded up')
    call expect(tiles(.false., 4, 10, 3) == 4, 'tiles of all blocks')
    call expect(tiles(.true., 4, 10, 3) == 16, 'tiles of one block after the other')
    call expect(tiles(.true., 3, huge(1), 1) == 3_int64 * huge(1), 'many tiles')
    call expect(block_bytes(10, MPI_DOUBLE_PRECISION) == 80, 'bytes of a block')
    call expect(block_bytes(huge(1), MPI_DOUBLE_PRECISION) == 8_int64 * huge(1), 'a long block')
    call expect(least_block(.true., .true.) == good, 'a message to one rank')
    call expect(least_block(.false., .true.) == 2 * good, 'two tiles')
    call expect(least_block(.false., .false.) == 16 * good, 'blocks for which it pays to ask')
    call expect(least_block(.true., .false.) == 16 * good, 'the same to one rank')
    if (is_smpi()) return  ! it has no errors that return here
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
    bytes = block_bytes(1, MPI_DATATYPE_NULL)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call expect(bytes == huge(bytes), 'no data type')
  end subroutine numbers

  subroutine nothing_to_gain()
    call expect(chosen_k(1, .false., .false., int(good, int64), 100, 1) == 0, 'one rank')
    call expect(chosen_k(1, .true., .false., int(good, int64), 100, 1) == 0, 'one rank, slabs')
    call expect(even_k(0, 100, 1) == 0, 'no elements')
    call expect(even_k(-8, 100, 1) == 0, 'less than none')
    call expect(even_k(good, 0, 1) == 0, 'no iterations')
    call expect(even_k(good, -3, 1) == 0, 'less than no iterations')
    call expect(even_k(good, 1, 1) == 0, 'one iteration')
    call expect(even_k(8, 16383, 1) == 0, 'less than two good messages')
  end subroutine nothing_to_gain

  subroutine every_block()
    call expect(even_k(8, 16384, 1) == 8192, 'two good messages')
    call expect(even_k(8, 20000, 1) == 10000, 'two halves')
    call expect(even_k(good, 2, 1) == 1, 'an iteration is a good message')
    call expect(even_k(good, 14, 1) == 2, 'seven tiles of twice as much')
    call expect(even_k(good, 16, 1) == 2, 'eight tiles of twice as much')
    call expect(even_k(good, 1000, 1) == 16, 'no more than 64 tiles')
    call expect(even_k(good, 64, 16) == 16, 'a multiple of the grain')
    call expect(even_k(good, 64, 64) == 0, 'no two tiles of such a grain')
    call expect(even_k(21846, 7, 1) == 4, 'a last message that is just long enough')
    call expect(even_k(21846, 10, 1) == 5, 'fewer tiles, or the last message were too short')
  end subroutine every_block

  subroutine one_by_one()
    call expect(slab_k(4, good/4, 3) == 0, 'a short block')
    call expect(slab_k(4, good/4, 4) == 4, 'a block is a good message')
    call expect(slab_k(4, good, 1) == 1, 'of one iteration')
    call expect(slab_k(4, good, 15) == 15, 'not worth cutting')
    call expect(slab_k(4, good, 16) == 4, 'four long messages')
    call expect(slab_k(32, good, 16) == 16, 'as many ranks are as many messages')
  end subroutine one_by_one

  integer function slab_k(np, piece, trips)
    integer, intent(in) :: np, piece, trips
    slab_k = chosen_k(np, .true., .false., int(piece, int64), trips, 1)
  end function slab_k

  subroutine uneven()
    call expect(chosen_k(4, .false., .true., int(good, int64), 7, 1) == 0, 'one long message')
    call expect(chosen_k(4, .false., .true., int(good, int64), 8, 1) == 4, 'two long messages')
    call expect(chosen_k(4, .false., .true., int(good, int64), 640, 1) == 40, 'no more than 16')
  end subroutine uneven

  !> No message is short, the last one included; there are at least two tiles, and not too many.
  subroutine all_of_them()
    integer, parameter :: pieces(*) = [1, 8, 100, 4095, 21846, good - 1, good, good + 1, 300000]
    integer :: p, trips, grain, k, last
    do p = 1, size(pieces)
      do grain = 1, 16, 5
        do trips = 1, 40000, 1 + trips_by(pieces(p))
          k = even_k(pieces(p), trips, grain)
          if (k == 0) cycle
          last = trips - (int(tiles(.false., 4, trips, k)) - 1) * k
          call expect(k < trips .and. mod(k, grain) == 0, 'tiles of whole grains')
          call expect(int(min(k, last), int64) * pieces(p) >= good, 'good messages')
          call expect(tiles(.false., 4, trips, k) <= 64, 'not too many')
        end do
      end do
    end do
  end subroutine all_of_them

  !> How far apart the numbers of iterations are that are tried.
  pure integer function trips_by(piece)
    integer, intent(in) :: piece
    trips_by = min(900, 40000 / max(1, good / piece))
    if (piece >= 4095) trips_by = 6
  end function trips_by
end program chosen
