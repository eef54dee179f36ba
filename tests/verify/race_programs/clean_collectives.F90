#include "binding.h"
! Legal collective calls: nothing is to be found, and results are what they are without.
program clean_collectives
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: most = 8
  integer :: rank, ranks, ierr, i, root, sum_of_ranks, position
  integer :: counts(most), displacements(most), others(most), places(most)
  integer :: sent(4*most), received(4*most), more(4*most), value, reduced, prefix
  real(8) :: spread(most)
  REQUEST :: request, several(4)
  COMMUNICATOR :: twin, half
  STATUS(status)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)

  sent = [(rank*100 + i, i = 1, size(sent))]
  received = -1
  call MPI_Ialltoall(sent, 2, MPI_INTEGER, received, 2, MPI_INTEGER, MPI_COMM_WORLD, request, ierr)
  call MPI_Barrier(twin, ierr)
  call MPI_Wait(request, status, ierr)
  call show('alltoall', sum(received*[(i, i = 1, size(received))]))

  call MPI_Alltoall(MPI_IN_PLACE, 2, MPI_INTEGER, received, 2, MPI_INTEGER, twin, ierr)
  call show('in place', sum(received*[(i, i = 1, size(received))]))

  ! blocks of different lengths with gaps between them
  do i = 1, ranks
    counts(i) = mod(rank + i - 1, 3)
    displacements(i) = 4*(i - 1)
  end do
  others = counts
  places = displacements + 1
  more = -3
  call MPI_Ialltoallv(sent, counts, displacements, MPI_INTEGER, more, others, places, MPI_INTEGER, &
                      MPI_COMM_WORLD, request, ierr)
  more(1) = 5
  call MPI_Wait(request, status, ierr)
  call show('alltoallv', sum(more))

  ! several at once, on two communicators
  value = rank + 1
  call MPI_Iallreduce(value, reduced, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, several(1), ierr)
  call MPI_Iscan(value, prefix, 1, MPI_INTEGER, MPI_SUM, twin, several(2), ierr)
  root = ranks - 1
  received = rank
  call MPI_Ibcast(received, 5, MPI_INTEGER, root, MPI_COMM_WORLD, several(3), ierr)
  call MPI_Ibarrier(MPI_COMM_WORLD, several(4), ierr)
  call MPI_Waitall(4, several, MPI_STATUSES_IGNORE, ierr)
  call show('several', reduced*100 + prefix + sum(received(:6)))

  call MPI_Igather(sent, 3, MPI_INTEGER, more, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call show('gather', sum(more(:3)))
  call MPI_Iscatter(sent, 3, MPI_INTEGER, more, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call show('scatter', sum(more(:4)))
  more(rank+1) = rank
  call MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INTEGER, more, 1, MPI_INTEGER, MPI_COMM_WORLD, request, &
                      ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call show('allgather', sum(more(:ranks)))
  if (rank == 0) then
    reduced = value
    call MPI_Ireduce(MPI_IN_PLACE, reduced, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, request, &
                     ierr)
  else
    call MPI_Ireduce(value, reduced, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, request, ierr)
  end if
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  if (rank > 0) reduced = 0
  call show('reduce', reduced)
  counts(:ranks) = 1
  call MPI_Ireduce_scatter(sent, value, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call show('scattered', value)

  ! blocking ones, the halves apart from each other
  sum_of_ranks = rank
  do i = 1, 3 + mod(rank, 2)
    call MPI_Allreduce(MPI_IN_PLACE, sum_of_ranks, 1, MPI_INTEGER, MPI_SUM, half, ierr)
  end do
  call show('halves', sum_of_ranks)
  counts(:ranks) = [(i, i = 1, ranks)]
  displacements(:ranks) = [(i*(i - 1)/2, i = 1, ranks)]
  received = 0
  call MPI_Gatherv(sent, rank + 1, MPI_INTEGER, received, counts, displacements, MPI_INTEGER, 0, &
                   MPI_COMM_WORLD, ierr)
  position = sum(received)
  call MPI_Scatterv(received, counts, displacements, MPI_INTEGER, more, rank + 1, MPI_INTEGER, 0, &
                    MPI_COMM_WORLD, ierr)
  call MPI_Allgatherv(sent, rank + 1, MPI_INTEGER, received, counts, displacements, MPI_INTEGER, &
                      MPI_COMM_WORLD, ierr)
  call show('blocks', sum(more(:rank+1)) + sum(received))
  spread(1) = rank
  call MPI_Bcast(spread, 1, MPI_DOUBLE_PRECISION, 0, half, ierr)
  call MPI_Exscan(value, prefix, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) prefix = 0
  call show('prefix', prefix + nint(spread(1)))

  call MPI_Comm_free(twin, ierr)
  call MPI_Comm_free(half, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine show(name, number)
    character(*), intent(in) :: name
    integer, intent(in) :: number
    integer :: all(most), error

    call MPI_Gather(number, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, 8(1x, i0))', name, all(:ranks)
  end subroutine show

end program clean_collectives
