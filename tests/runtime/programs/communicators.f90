! What a communicator carries: one duplicate, other tags for operations that may meet, what its ranks
! remember of a site; duplicates of the program have nothing of it.
program communicators
  use mpi
  use asphalt_tags, only: private_messages
  use asphalt_communicators, only: companion, find_companion, private_duplicate, &
                                   recall, site_memory, too_early
  use asphalt_core, only: int64
  implicit none
  integer, parameter :: much = 8388608
  type(companion), pointer :: carried, other
  type(site_memory), pointer :: memory
  integer :: me, comm, copy, own, again, tag, next, relation, error
  logical :: right, usable

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
  call find_companion(comm, carried, error)
  right = carried%own == MPI_COMM_NULL

  ! short blocks are worth a duplicate when enough of them came by
  right = right .and. too_early(carried, 1000000_int64/2, .true.)
  right = right .and. too_early(carried, 1000000_int64/2, .true.)
  right = right .and. .not. too_early(carried, int(much, int64), .true.)

  call private_messages(comm, int(much, int64), own, tag, usable)
  right = right .and. usable .and. own == carried%own
  call MPI_Comm_compare(comm, own, relation, error)
  right = right .and. relation == MPI_CONGRUENT
  call private_messages(comm, int(much, int64), again, next, usable)
  right = right .and. usable .and. again == own .and. next == tag + 1
  usable = .true.
  again = MPI_COMM_NULL
  call private_duplicate(comm, again, .false., usable, error)
  right = right .and. usable .and. again == own

  call recall(carried, 'one', 3, memory)
  right = right .and. memory%resting == 3
  memory%resting = 2
  call recall(carried, 'other', 5, memory)
  right = right .and. memory%resting == 5
  call recall(carried, 'one', 3, memory)
  right = right .and. memory%resting == 2

  call MPI_Comm_dup(comm, copy, error)
  call find_companion(copy, other, error)
  right = right .and. other%own == MPI_COMM_NULL .and. .not. associated(other%sites)
  call MPI_Comm_free(copy, error)
  call MPI_Comm_free(comm, error)
  if (me == 0 .and. right) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program communicators
