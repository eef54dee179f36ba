! Communicators of the runtime's own, and what the ranks of a communicator remember together.
!
! A message of the runtime must not be received by the program, nor one of the program by the
! runtime: a receive of the program with MPI_ANY_SOURCE and MPI_ANY_TAG would take it.  So messages
! that take the place of a collective operation travel on a duplicate of its communicator, which is
! made at the first use, and freed with it.  The duplicate is an attribute of the communicator
! (MPI-4.0 section 7.7): all ranks then agree about whether it exists, in whatever order the program
! uses its communicators.  It is not inherited by duplicates that the program makes.
!
! For the other modules of the runtime
!   find_companion       what a communicator carries
!   recall               what its ranks remember of one site
!   private_duplicate    the duplicate
!   too_early            whether too little has come by yet to be worth a duplicate
!
! Nothing here is for transformed code.
!
! Under SMPI the duplicates are not freed: version 3.32 calls Fortran's attribute callbacks with the
! arguments of C.
module asphalt_communicators
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc, c_null_ptr
  use asphalt_core, only: int64, is_smpi
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMM_NULL, MPI_COMM_NULL_COPY_FN, MPI_ERRORS_ARE_FATAL, &
                 MPI_ERRORS_RETURN, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: companion, site_memory, find_companion, recall, private_duplicate, too_early

  !> Bytes of a block from which on the first exchange on a communicator is worth the duplicate, and
  !! bytes of all blocks that have come by from which on a shorter one is.
  integer(int64), parameter :: least_first_block = 524288_int64
  integer(int64), parameter :: least_first_blocks = 2097152_int64
  !> The same where it takes asking, too, of one block or of all.
  integer(int64), parameter :: least_agreed_blocks = 4194304_int64

  !> What the ranks of a communicator remember of a site, all of them the same.
  type :: site_memory
    character(:), allocatable :: site
    !> Entries that will not ask whether to tile.
    integer :: resting = 0
    !> What this rank told the others when all agreed to tile, and what came of it: K, and the
    !! pieces that come from each rank.
    integer, allocatable :: told(:), cuts(:)
    integer :: k = 0
    type(site_memory), pointer :: next => null()
  end type site_memory

  !> What a communicator carries.  It is only changed on entry, by what all ranks know to be equal:
  !! they enter the same sites on it in the same order, so that it is the same on all of them.
  type :: companion
    !> The private duplicate, once there is one.
    integer :: own = MPI_COMM_NULL
    !> Bytes of the blocks of exchanges that came by and would have been tiled, were there `own`.
    integer(int64) :: met = 0
    !> Collective operations that were carried out as messages on `own`.
    integer :: exchanges = 0
    type(site_memory), pointer :: sites => null()
  end type companion

  !> An element of `numbered`.
  type :: companion_pointer
    type(companion), pointer :: companion => null()
  end type companion_pointer

  !> All companions, under SimGrid's SMPI 3.32, which keeps only 32 bits of an attribute: there it
  !! is the place in this list; elsewhere it is an address.
  type(companion_pointer), allocatable :: numbered(:)

  !> The key under which a communicator carries its companion; made at the first use.
  integer :: private_key = 0
  logical :: private_key_exists = .false.

contains

  !> What `comm` carries, made at the first use.
  !!
  !! It is an attribute of `comm`, freed with it, and not inherited by duplicates that the program
  !! makes (two owners would free it twice).  Nothing is sent.
  subroutine find_companion(comm, carried, ierror)
    integer, intent(in) :: comm
    type(companion), pointer, intent(out) :: carried
    integer, intent(out) :: ierror
    integer(MPI_ADDRESS_KIND) :: attribute
    integer :: key
    logical :: found

    nullify (carried)
    call find_key(key, ierror)
    if (ierror /= MPI_SUCCESS) return
    attribute = 0  ! an MPI that keeps 32 bits sets no others
    call MPI_Comm_get_attr(comm, key, attribute, found, ierror)
    if (ierror /= MPI_SUCCESS) return
    if (found) then
      carried => companion_of(attribute)
    else
      allocate(carried)
      attribute = attribute_of(carried)
      call MPI_Comm_set_attr(comm, key, attribute, ierror)
      if (ierror /= MPI_SUCCESS) deallocate(carried)
    end if
  end subroutine find_companion

  !> The key of the program, made at the first use.
  !!
  !! With MPI_THREAD_MULTIPLE, threads may enter their first exchanges at once, on different
  !! communicators.  With two keys, one would not find again what it has put on its communicator;
  !! on other ranks there may be one key, and they would disagree about what is there.  So only one
  !! thread at a time is in here.  The directive is for threads of OpenMP, and the runtime is
  !! compiled with the same option as the program.
  subroutine find_key(key, ierror)
    integer, intent(out) :: key, ierror

    !$omp critical (asphalt_key_of_companions)
    ierror = MPI_SUCCESS
    if (.not. private_key_exists) then
      if (.not. is_smpi()) then
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_companion, private_key, &
                                    0_MPI_ADDRESS_KIND, ierror)
      else
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, keep_companion, private_key, &
                                    0_MPI_ADDRESS_KIND, ierror)
      end if
      private_key_exists = ierror == MPI_SUCCESS
    end if
    key = private_key
    !$omp end critical (asphalt_key_of_companions)
  end subroutine find_key

  !> What stands for a companion in an attribute.
  integer(MPI_ADDRESS_KIND) function attribute_of(carried)
    type(companion), pointer, intent(in) :: carried
    type(companion_pointer), allocatable :: longer(:)
    integer :: known

    if (.not. is_smpi()) then
      attribute_of = transfer(c_loc(carried), attribute_of)
      return
    end if
    known = 0
    if (allocated(numbered)) known = size(numbered)
    allocate(longer(known + 1))
    if (known > 0) longer(:known) = numbered
    longer(known + 1)%companion => carried
    call move_alloc(longer, numbered)
    attribute_of = known + 1
  end function attribute_of

  !> The companion that an attribute stands for.
  function companion_of(attribute) result(carried)
    integer(MPI_ADDRESS_KIND), intent(in) :: attribute
    type(companion), pointer :: carried

    if (allocated(numbered)) then
      carried => numbered(attribute)%companion
    else
      call c_f_pointer(transfer(attribute, c_null_ptr), carried)
    end if
  end function companion_of

  !> What is remembered of a site; of one that is met for the first time, that so many entries will
  !! not ask.
  subroutine recall(carried, site, resting, memory)
    type(companion), intent(inout) :: carried
    character(*), intent(in) :: site
    integer, intent(in) :: resting
    type(site_memory), pointer, intent(out) :: memory

    memory => carried%sites
    do while (associated(memory))
      if (memory%site == site) return
      memory => memory%next
    end do
    allocate(memory)
    memory%site = site
    memory%resting = resting
    memory%next => carried%sites
    carried%sites => memory
  end subroutine recall

  !> The communicator with the ranks of `comm` on which nobody else sends; `usable` becomes false
  !! where there is none.
  !!
  !! `comm` carries it, made at the first exchange that is tiled and freed with it, so that every
  !! rank agrees about whether it exists, in whatever order the communicators are used.  It is made
  !! from the group, so that it does not inherit the attributes of the program.  `in_step`: ranks
  !! are to leave its making at the same time.
  subroutine private_duplicate(comm, own, in_step, usable, ierror)
    integer, intent(in) :: comm
    logical, intent(in) :: in_step
    integer, intent(inout) :: own, ierror
    logical, intent(inout) :: usable
    type(companion), pointer :: carried
    integer :: failed

    call find_companion(comm, carried, failed)
    if (failed == MPI_SUCCESS) then
      if (carried%own == MPI_COMM_NULL) call duplicate(comm, in_step, carried%own, failed)
    end if
    if (failed == MPI_SUCCESS) call same_handler(comm, carried%own, failed)
    if (ierror == MPI_SUCCESS) ierror = failed
    if (failed == MPI_SUCCESS) then
      own = carried%own
    else
      usable = .false.
    end if
  end subroutine private_duplicate

  !> Whether a communicator has seen too little, with this block of so many bytes, to be worth a
  !! duplicate (and, where not `certain`, asking).  `block` is the same on all ranks.
  logical function too_early(carried, block, certain)
    type(companion), intent(inout) :: carried
    integer(int64), intent(in) :: block
    logical, intent(in) :: certain

    too_early = .false.
    if (carried%own /= MPI_COMM_NULL) return
    if (block >= merge(least_first_block, least_agreed_blocks, certain)) return
    carried%met = carried%met + block
    too_early = carried%met < merge(least_first_blocks, least_agreed_blocks, certain)
  end function too_early

  !> A communicator with the ranks of `comm` in their order, and nothing else of it.
  subroutine duplicate(comm, in_step, own, ierror)
    integer, intent(in) :: comm
    logical, intent(in) :: in_step
    integer, intent(inout) :: own
    integer, intent(out) :: ierror
    integer :: group, new, failed

    call MPI_Comm_group(comm, group, ierror)
    if (ierror /= MPI_SUCCESS) return
    call MPI_Comm_create(comm, group, new, ierror)
    call MPI_Group_free(group, failed)
    if (ierror /= MPI_SUCCESS) return
    own = new
    ierror = failed
    if (.not. in_step) return
    ! Ranks leave what has made it one after the other; slabs would keep that distance to the end.
    call MPI_Barrier(own, failed)
    if (ierror == MPI_SUCCESS) ierror = failed
  end subroutine duplicate

  !> Gives `own` the error handler of `comm`, which the program may have changed.
  subroutine same_handler(comm, own, ierror)
    integer, intent(in) :: comm, own
    integer, intent(out) :: ierror
    integer :: handler

    call MPI_Comm_get_errhandler(comm, handler, ierror)
    if (ierror /= MPI_SUCCESS) return
    call MPI_Comm_set_errhandler(own, handler, ierror)
    if (ierror /= MPI_SUCCESS) return
    if (handler == MPI_ERRORS_ARE_FATAL .or. handler == MPI_ERRORS_RETURN) return
    call MPI_Errhandler_free(handler, ierror)  ! the reference that the query made
  end subroutine same_handler

  !> Called by MPI when a communicator that carries something is freed.
  subroutine free_companion(comm, key, attribute, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, state
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory

    ierror = MPI_SUCCESS
    if (key /= private_key .or. state /= 0) return
    carried => companion_of(attribute)
    if (carried%own /= MPI_COMM_NULL .and. carried%own /= comm) &
      call MPI_Comm_free(carried%own, ierror)
    do while (associated(carried%sites))
      memory => carried%sites
      carried%sites => memory%next
      deallocate(memory)
    end do
    deallocate(carried)
  end subroutine free_companion

  !> The same for an MPI that calls it as a C function: leaves everything alone.
  integer function keep_companion()
    keep_companion = 0
  end function keep_companion
end module asphalt_communicators
