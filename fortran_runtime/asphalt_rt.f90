!> What code emitted by asphalt needs at run time.
!!
!! `asphalt_enter` is called once before an exchange that was cut into tiles.  It answers three
!! questions in a way that is the same on all ranks: on which communicator the tiles travel, how
!! many iterations make a tile, and whether to tile at all.  When the answer is "no" (`k` = 0) the
!! original collective call, which stays in the code, does the work.
!!
!! This file needs nothing but Fortran 2003, MPI 3.0 and its module `mpi`.  Callers that use
!! `mpi_f08` pass the `MPI_VAL` components of their handles.
module asphalt_rt
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc, c_null_ptr, c_ptr, c_signed_char, &
                                         c_size_t
  use mpi, only: MPI_ADDRESS_KIND, MPI_ANY_TAG, MPI_COMM_NULL, MPI_COMM_NULL_COPY_FN, &
                 MPI_COMM_SELF, MPI_DATATYPE_NULL, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, &
                 MPI_INTEGER, MPI_MAX, MPI_PACKED, MPI_PROC_NULL, MPI_REQUEST_NULL, &
                 MPI_SOURCE, MPI_STATUS_IGNORE, MPI_STATUS_SIZE, MPI_STATUSES_IGNORE, MPI_SUCCESS, &
                 MPI_TAG
  implicit none
  private
  public :: asphalt_enter, asphalt_ranks, asphalt_window
  public :: asphalt_sync, asphalt_byte, asphalt_copy
  public :: asphalt_strided, asphalt_free
  public :: asphalt_isend, asphalt_irecv, asphalt_progress, asphalt_waitall, asphalt_no_request
  public :: asphalt_answers, asphalt_enter_uneven, asphalt_hear
  public :: asphalt_pieces_of, asphalt_most_pieces, asphalt_next_piece
  public :: asphalt_posts_of, asphalt_enter_packed, asphalt_rank
  public :: asphalt_iterations, asphalt_isend_at, asphalt_irecv_at
  public :: asphalt_issend, asphalt_isendrecv_replace, asphalt_wait, asphalt_wait_both
  public :: asphalt_ibcast, asphalt_ireduce, asphalt_iallreduce
  public :: asphalt_igather, asphalt_igatherv, asphalt_iscatter, asphalt_iscatterv
  public :: asphalt_iallgather, asphalt_iallgatherv
  public :: asphalt_ialltoall, asphalt_ialltoallv, asphalt_ialltoallw
  public :: asphalt_iscan, asphalt_iexscan, asphalt_ireduce_scatter, asphalt_ireduce_scatter_block
  public :: asphalt_in_place
  public :: asphalt_queue, asphalt_post, asphalt_take, asphalt_send
  public :: asphalt_waited, asphalt_oldest, asphalt_taken
  public :: asphalt_private
  public :: asphalt_segment
  public :: asphalt_is_smpi

  !> Integers for numbers of bytes, which overflow default integers.
  integer, parameter :: int64 = selected_int_kind(18)
  !> Integers of one byte.
  integer, parameter :: int8 = selected_int_kind(2)

  !> The kind of integers in which memory is counted where the type does not matter.
  integer, parameter :: asphalt_byte = c_signed_char

  !> Stands for MPI_IN_PLACE in calls of the procedures below: that of `mpi_f08` is not that of `mpi`
  !! under MPICH, and under SMPI it is no variable.
  integer, save :: asphalt_in_place = 0

  !> A request that is complete.
  integer, parameter :: asphalt_no_request = MPI_REQUEST_NULL

  ! The choice of K.  docs/choice.md has the measurements behind these numbers.

  !> Bytes of a message from which on networks give their full bandwidth: an exchange is not cut
  !! into shorter ones, which would take longer altogether than the original call.
  integer(int64), parameter :: good_message = 65536_int64
  !> Where messages twice as long leave as many tiles as this, they are that long: each costs less.
  integer(int64), parameter :: enough_tiles = 8_int64
  !> Bytes of a message where a tile sends to one rank alone, so that fewer are under way, or where
  !! all receives are posted at once.
  integer(int64), parameter :: good_long_message = 262144_int64
  !> Pieces of at least `good_long_message` from which on it pays to cut a slab's block at all.
  integer(int64), parameter :: least_slab_pieces = 4_int64
  !> The least number of tiles in flight of slabs: a tile has one message, and as many have to be
  !! under way as hide the latency, and what one rank is ahead of another.
  integer, parameter :: least_slab_depth = 8
  !> More tiles than this hide nothing more, and each of them costs requests and calls.
  integer(int64), parameter :: many_tiles = 64_int64
  !> The same where all receives are posted at once.
  integer(int64), parameter :: many_uneven_tiles = 16_int64
  !> Bytes of a block from which on it pays to ask the other ranks at every entry.
  integer(int64), parameter :: least_agreed_block = 1048576_int64
  !> The same for the longest of blocks of different lengths: of slabs, and where tiles send to all.
  integer(int64), parameter :: least_uneven_slab = 524288_int64
  integer(int64), parameter :: least_uneven_block = 1048576_int64
  !> Bytes of a block from which on the first exchange on a communicator is worth the duplicate, and
  !! bytes of all blocks that have come by from which on a shorter one is.
  integer(int64), parameter :: least_first_block = 524288_int64
  integer(int64), parameter :: least_first_blocks = 2097152_int64
  !> The same where it takes asking, too, of one block or of all.
  integer(int64), parameter :: least_agreed_blocks = 4194304_int64
  !> Entries that go by without asking after the ranks agreed not to tile.
  integer, parameter :: patience = 63
  !> Entries that go by before the ranks ask at all, where nothing equal is known of their blocks.
  integer, parameter :: first_patience = 47
  !> Bytes of a contiguous run below which packing and unpacking the runs of a message costs more
  !! than what it hides.
  integer(int64), parameter :: least_run = 256_int64

  !> Parts of a message between two ranks, and operations for which it pays to send one more.
  integer, parameter :: usual_segments = 4
  real, parameter :: least_segment_work = 100000.0
  integer, parameter :: whole_vectors = 16

  !> Chances for MPI in one tile: more of them cost more than they bring.
  integer, parameter :: chances_a_tile = 8

  !> The greatest tag that every MPI has (MPI-3.1 section 8.1.2).
  integer, parameter :: most_tags = 32767

  !> Up to so many ranks tell each other all that they know; more of them tell each its own part.
  integer, parameter :: few_ranks = 64

  !> The most elements of a piece, and of what a rank sends: the sum of both is a default integer.
  integer(int64), parameter :: most_elements = 1073741823_int64

  !> Numbers that ranks tell each other about blocks of different lengths.
  integer, parameter :: cut_facts = 4

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

  !> What all ranks tell each other on entry of an exchange of blocks of different lengths, for
  !! `asphalt_hear`, which hears it while this rank may already compute.
  type :: asphalt_answers
    private
    !> What this rank tells, and what all of them told; MPI works on both until `request` is complete.
    integer, pointer :: mine(:) => null(), told(:) => null()
    integer, pointer :: request => null()
    !> What came of it: the elements of the pieces of each rank, all 0 where the exchange is not
    !! tiled.  Not allocated: nobody has told yet, or all is known already.
    integer, allocatable :: cuts(:)
    integer :: own, me, np, datatype
  end type asphalt_answers

  !> The request of the last exchange whose ranks are still telling each other how they cut.
  integer, pointer, save :: asked => null()
  !> Which receive asphalt_progress found pending last, of whatever exchange: where it looks first.
  integer, save :: expected_last = 0

  !> All companions, under SimGrid's SMPI 3.32, which keeps only 32 bits of an attribute: there it
  !! is the place in this list; elsewhere it is an address.
  type(companion_pointer), allocatable :: numbered(:)

  !> Whether it has been told that an exchange was tiled.
  logical :: told = .false.

  !> A message that comes into a copy of the buffer where it will be used, or leaves from one.
  type :: message
    integer(asphalt_byte), allocatable :: copy(:)
    !> What it is asked for with.
    integer :: count, datatype, source, tag, comm
    !> Bytes of an element, 0 where elements have gaps; its receive or send, once it is started, and
    !! the receive into the buffer that it leaves, or itself where that is `from_nobody`.
    integer :: bytes = 0, request = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL
    logical :: posted = .false., from_nobody = .false.
    type(message), pointer :: next => null()
  end type message

  !> Messages on their way, those that will be used first at the beginning; from `waiting` on, no
  !! receive is started yet.
  type :: asphalt_queue
    private
    type(message), pointer :: first => null(), last => null(), waiting => null()
    integer :: mebibytes
  end type asphalt_queue

  !> Messages that are used, whose copies the next ones may take.
  type(message), pointer :: spare => null()
  !> Bytes of all copies, spare ones included, and the most there may be unless a call says more.
  integer(int64) :: copied = 0
  integer, parameter :: usual_mebibytes = 64

  !> Messages that leave from copies, the oldest one first, and how many there may be.
  type(message), pointer :: leaving => null(), last_leaving => null()
  integer, parameter :: most_leaving = 16
  integer :: now_leaving = 0

  !> Messages that leave from copies of buffers into which others come.
  type(message), pointer :: replaced => null()

  !> The key under which MPI_COMM_SELF sees to it that MPI_Finalize waits for them.
  integer :: finalize_key
  logical :: finalize_waits = .false.

  !> The key under which a communicator carries its companion; made at the first use.
  integer :: private_key = 0
  logical :: private_key_exists = .false.

  !> Choice buffers have no interface in some MPI modules, and under `mpif.h`.  The directives make
  !! compilers take an actual argument of any type and rank; TYPE(*) would do without, but needs
  !! more than Fortran 2003.
  interface
    subroutine MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, dest, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Isend

    subroutine MPI_Issend(buf, count, datatype, dest, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, dest, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Issend

    subroutine MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, source, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Irecv

    subroutine MPI_Ibcast(buffer, count, datatype, root, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buffer
      !DIR$ ignore_tkr buffer
      integer, dimension(*), asynchronous :: buffer
      integer, intent(in) :: count, datatype, root, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ibcast

    subroutine MPI_Ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, root, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ireduce

    subroutine MPI_Iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iallreduce

    subroutine MPI_Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
                           request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Igather

    subroutine MPI_Igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
                            root, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvtype, root, comm
      integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
      integer, intent(out) :: request, ierror
    end subroutine MPI_Igatherv

    subroutine MPI_Iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
                            comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iscatter

    subroutine MPI_Iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, &
                             root, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendtype, recvcount, recvtype, root, comm
      integer, intent(in), dimension(*), asynchronous :: sendcounts, displs
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iscatterv

    subroutine MPI_Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                              request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iallgather

    subroutine MPI_Iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                               recvtype, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvtype, comm
      integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iallgatherv

    subroutine MPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                             request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ialltoall

    subroutine MPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                              rdispls, recvtype, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendtype, recvtype, comm
      integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ialltoallv

    subroutine MPI_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
                              rdispls, recvtypes, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf, sendtypes, recvtypes
      !DIR$ ignore_tkr sendbuf, recvbuf, sendtypes, recvtypes
      integer, dimension(*), asynchronous :: sendbuf, recvbuf, sendtypes, recvtypes
      integer, intent(in) :: comm
      integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ialltoallw

    subroutine MPI_Iscan(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iscan

    subroutine MPI_Iexscan(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Iexscan

    subroutine MPI_Ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, request, &
                                   ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in), dimension(*), asynchronous :: recvcounts
      integer, intent(in) :: datatype, op, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ireduce_scatter

    subroutine MPI_Ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm, &
                                         request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: recvcount, datatype, op, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Ireduce_scatter_block

    ! Those that take the place of the non-blocking ones under SMPI, where these are in place, or on a
    ! communicator of one rank.

    subroutine MPI_Bcast(buffer, count, datatype, root, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buffer
      !DIR$ ignore_tkr buffer
      integer, dimension(*) :: buffer
      integer, intent(in) :: count, datatype, root, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Bcast

    subroutine MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Allreduce

    subroutine MPI_Scan(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Scan

    subroutine MPI_Exscan(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: count, datatype, op, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Exscan

    subroutine MPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in), dimension(*), asynchronous :: recvcounts
      integer, intent(in) :: datatype, op, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Reduce_scatter

    subroutine MPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: recvcount, datatype, op, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Reduce_scatter_block

    subroutine MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                            ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
      integer, intent(out) :: ierror
    end subroutine MPI_Alltoall

    subroutine MPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                             rdispls, recvtype, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: sendtype, recvtype, comm
      integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
      integer, intent(out) :: ierror
    end subroutine MPI_Alltoallv

    subroutine MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
                             rdispls, recvtypes, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf, sendtypes, recvtypes
      !DIR$ ignore_tkr sendbuf, recvbuf, sendtypes, recvtypes
      integer, dimension(*), asynchronous :: sendbuf, recvbuf, sendtypes, recvtypes
      integer, intent(in) :: comm
      integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
      integer, intent(out) :: ierror
    end subroutine MPI_Alltoallw

    subroutine MPI_Pack(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: inbuf, outbuf
      !DIR$ ignore_tkr inbuf, outbuf
      integer, dimension(*) :: inbuf, outbuf
      integer, intent(in) :: incount, datatype, outsize, comm
      integer, intent(inout) :: position
      integer, intent(out) :: ierror
    end subroutine MPI_Pack

    subroutine MPI_Get_address(location, address, ierror)
      import :: MPI_ADDRESS_KIND
      implicit none
      !GCC$ attributes no_arg_check :: location
      !DIR$ ignore_tkr location
      integer, dimension(*), asynchronous :: location
      integer(MPI_ADDRESS_KIND), intent(out) :: address
      integer, intent(out) :: ierror
    end subroutine MPI_Get_address

    type(c_ptr) function memcpy(to, from, bytes) bind(c, name='memcpy')
      import :: c_ptr, c_signed_char, c_size_t
      implicit none
      !GCC$ attributes no_arg_check :: to, from
      !DIR$ ignore_tkr to, from
      integer(c_signed_char), dimension(*) :: to, from
      integer(c_size_t), value :: bytes
    end function memcpy
  end interface

contains

  !> Enters one exchange.
  !!
  !! `comm`, `datatype`: those of the exchange.  `bytes`: storage of one element of the buffer; the
  !! exchange is not tiled where the data type is not exactly that.  `elements`: elements that one
  !! iteration adds to one message.  `trips`: iterations over which one stream of messages runs.
  !! `grain`: a chosen `k` is a multiple of it.  `wanted_k`, `wanted_d`: from the header;
  !! `wanted_k` = 0 means: choose.  `legal`: the guards of this rank hold.  `certain`: `datatype`,
  !! `elements`, `trips` and `legal` are known to be equal on all ranks of `comm`; if not, the ranks
  !! agree here by one reduction.  `slab`: the streams to the ranks follow one another (otherwise,
  !! and by default, every tile sends to every rank).  `ready`: one more size that must be equal.
  !! `extents`, `along`, `strides`: what `asphalt_strided` gets, where a tile is not one run of a
  !! block; `certain` covers `extents`, too.  `count`: elements that the call sends to each rank;
  !! MPI wants `count` of `datatype` to be equally many bytes on all ranks (MPI-3.1 section 5.8), so
  !! that this alone may decide, without asking, that there is too little to gain.  `site`: under
  !! which name it is remembered that the ranks agreed not to tile.  `alone`: nothing else of the
  !! program can meet the messages on `comm` itself; by default they need a private duplicate.
  !!
  !! `own`, `me`, `np`: the communicator of the messages where the exchange is tiled, rank and size.
  !! `k`: iterations of a tile, 1 <= `k` <= `trips`, or 0: do not tile.  `d`: tiles in flight, at
  !! least 1 and at most the number of tiles; where `k` is chosen, it may be more than `wanted_d`.
  !! `ierror`: the first error, if `comm` has an error handler that returns.
  subroutine asphalt_enter(comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d, &
                           legal, certain, own, me, np, k, d, ierror, slab, ready, extents, &
                           along, strides, count, site, alone)
    integer, intent(in) :: comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d
    logical, intent(in) :: legal, certain
    integer, intent(out) :: own, me, np, k, d, ierror
    logical, intent(in), optional :: slab
    integer, intent(in), optional :: ready, extents(:), along, strides(:), count
    character(*), intent(in), optional :: site
    logical, intent(in), optional :: alone
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    logical :: usable, dense, one_by_one, made, apart
    integer :: more

    k = 0
    d = 1
    one_by_one = .false.
    if (present(slab)) one_by_one = slab
    apart = .true.
    if (present(alone)) apart = .not. alone
    call open_exchange(comm, own, me, np, usable, ierror)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (np == 1) return
      if (present(count)) then
        if (block_bytes(count, datatype) < least_block(one_by_one, certain)) return
      end if
      call find_companion(comm, carried, ierror)
      if (ierror /= MPI_SUCCESS) return
      if (present(count) .and. (apart .or. .not. certain)) then
        if (too_early(carried, block_bytes(count, datatype), certain)) return
      end if
      if (present(site) .and. .not. certain) then
        call recall(carried, site, 0, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(datatype, bytes, dense, ierror)
    if (ierror == MPI_SUCCESS .and. dense .and. legal .and. trips > 0 .and. elements > 0) then
      k = min(wanted_k, trips)
      d = wanted_d
      if (wanted_k <= 0) then
        k = chosen_k(np, one_by_one, .false., int(elements, int64) * bytes, trips, grain)
        if (present(extents)) k = in_long_runs(k, bytes, trips, grain, extents, along, strides)
        if (one_by_one) d = max(d, least_slab_depth)
      end if
      if (k > 0) d = int(max(1_int64, min(int(d, int64), tiles(one_by_one, np, trips, k))))
    end if
    if (.not. certain .and. np > 1) then
      more = 0
      if (present(ready)) more = ready
      if (present(extents)) then
        call agree(comm, [k, d, trips, elements, bytes, more, extents], k, ierror)
      else
        call agree(comm, [k, d, trips, elements, bytes, more], k, ierror)
      end if
      if (k == 0 .and. associated(memory)) memory%resting = patience
    end if
    if (k > 0 .and. apart) then
      made = .true.
      call private_duplicate(comm, own, .true., made, ierror)
      if (.not. made) k = 0
    end if
    if (k == 0) d = 1
    if (k > 0) call tell_tiled()
  end subroutine asphalt_enter

  !> Rank and size; not usable: there is nothing to tile on, on any rank.  Nothing that only one
  !! rank knows is looked at.
  subroutine open_exchange(comm, own, me, np, usable, ierror)
    integer, intent(in) :: comm
    integer, intent(out) :: own, me, np, ierror
    logical, intent(out) :: usable
    logical :: between_groups

    own = comm
    me = 0
    np = 1
    usable = .false.
    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL) return  ! the original call reports it
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_rank(comm, me, ierror)
    if (ierror /= MPI_SUCCESS) return
    call MPI_Comm_size(comm, np, ierror)
    usable = ierror == MPI_SUCCESS
  end subroutine open_exchange

  !> Bytes of a block below which an exchange is not tiled.
  pure integer(int64) function least_block(one_by_one, certain)
    logical, intent(in) :: one_by_one, certain

    least_block = merge(good_message, 2 * good_message, one_by_one)
    if (.not. certain) least_block = max(least_block, least_agreed_block)
  end function least_block

  !> The bytes of `count` of `datatype`, the same on all ranks; many where MPI does not know.
  integer(int64) function block_bytes(count, datatype)
    integer, intent(in) :: count, datatype
    integer :: size, ierror

    block_bytes = huge(block_bytes)
    call MPI_Type_size(datatype, size, ierror)
    if (ierror == MPI_SUCCESS) block_bytes = int(count, int64) * size
  end function block_bytes

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

  !> Enters one exchange of blocks of different lengths (MPI_ALLTOALLV).
  !!
  !! What a rank sends to another is cut into pieces of as many elements as the sender computes in
  !! `k` iterations, the last one shorter.  Both know how long it is (`scounts` of the one,
  !! `rcounts` of the other), and each rank tells here all others how long its pieces are, and
  !! whether it can tile at all.  Where the header says `k`, the ranks compute their first tile
  !! before they hear of each other: if `k` is at least 1, `asphalt_hear` is to be called once before
  !! the first tile and once behind it.
  !!
  !! `comm`, `datatype`, `bytes`, `grain`, `wanted_k`, `wanted_d`, `legal`, `own`, `me`, `np`,
  !! `ierror`, `site` and `alone`: as for `asphalt_enter`.  `elements`: elements that one iteration of this
  !! rank adds to a block; `trips`: its iterations.  `scounts`, `sdispls`, `rcounts`: of the call.
  !! `slab`: the iterations fill the blocks one after the other; else they fill all of them at once,
  !! and the blocks begin at multiples of `spread` elements.
  !!
  !! `k`: iterations in which this rank computes a piece, at least 1; 0: this rank does not tile, and
  !! so none will.  `piece`: elements of its pieces, at least 1 if `k` is.  `d`: tiles whose sends
  !! are in flight.  `answers`: what the ranks tell each other.
  subroutine asphalt_enter_uneven(comm, datatype, bytes, elements, trips, grain, wanted_k, &
                                  wanted_d, legal, scounts, sdispls, rcounts, slab, spread, &
                                  own, me, np, k, piece, answers, d, ierror, site, alone)
    integer, intent(in) :: comm, datatype, bytes, elements, trips, grain, wanted_k, wanted_d
    logical, intent(in) :: legal, slab
    integer, intent(in) :: scounts(0:*), sdispls(0:*), rcounts(0:*), spread
    integer, intent(out) :: own, me, np, k, piece, d, ierror
    type(asphalt_answers), intent(inout) :: answers
    character(*), intent(in), optional :: site
    logical, intent(in), optional :: alone
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer :: longest, chosen, most
    logical :: usable, dense, fits, apart

    k = 0
    piece = 0
    d = 1
    apart = .true.
    if (present(alone)) apart = .not. alone
    call open_exchange(comm, own, me, np, usable, ierror)
    if (.not. usable) return
    nullify (carried, memory)
    if (wanted_k <= 0) then
      if (np == 1) return
      call find_companion(comm, carried, ierror)
      if (ierror /= MPI_SUCCESS) return
      if (present(site)) then
        call recall(carried, site, first_patience, memory)
        if (memory%resting > 0) then
          memory%resting = memory%resting - 1
          return
        end if
      end if
    end if

    call is_dense(datatype, bytes, dense, ierror)
    fits = ierror == MPI_SUCCESS .and. dense .and. legal .and. all(rcounts(:np-1) >= 0) &
      .and. blocks_fit(np, elements, trips, scounts, sdispls, slab, spread)
    longest = 0
    if (fits .and. elements > 0) longest = asphalt_iterations(maxval(scounts(:np-1)), elements)
    chosen = min(wanted_k, longest)
    if (wanted_k <= 0) &
      chosen = chosen_k(np, slab, .true., int(elements, int64) * bytes, longest, grain)
    piece = int(min(int(merge(chosen, longest, chosen > 0), int64) * elements, most_elements))
    if (wanted_k > 0) then
      ! a duplicate that was made in vain is made once
      if (apart) call private_duplicate(comm, own, .false., fits, ierror)
      call tell(answers, own, me, np, datatype, [chosen, piece, merge(bytes, 0, fits), 0], .true., &
                ierror)
      piece = merge(max(1, piece), 0, fits)
      if (.not. fits) own = comm
    else
      call tell(answers, comm, me, np, datatype, [chosen, piece, merge(bytes, 0, fits), &
                kibibytes(longest, elements, bytes)], .false., ierror)
      call take_cuts(answers, .true., most, ierror)
      if (most < merge(least_uneven_slab, least_uneven_block, slab) / 1024) answers%cuts = 0
      if (associated(memory) .and. answers%cuts(0) == 0) memory%resting = patience
      fits = .true.
      if (answers%cuts(0) > 0 .and. apart) call private_duplicate(comm, own, .true., fits, ierror)
      if (.not. fits) answers%cuts = 0
      answers%own = own
      piece = answers%cuts(me)
    end if
    if (piece == 0) then
      if (associated(answers%told)) call take_cuts(answers, .false., most, ierror)
      deallocate(answers%cuts)
      return
    end if
    k = max(1, asphalt_iterations(piece, elements))
    d = max(1, wanted_d)
    if (slab .and. wanted_k <= 0) d = max(d, least_slab_depth)
    d = min(d, max(1, asphalt_pieces_of(scounts, np, piece)))
  end subroutine asphalt_enter_uneven

  !> Hears what the other ranks told on entry (`asphalt_enter_uneven`), and posts all receives.
  !!
  !! `now`: this rank has computed its first tile, and waits for the others; before, receives are only
  !! posted where all is known, at once or since `asphalt_progress` found it there.  `buf`, `rcounts`, `rdispls`: of the call.  `requests`: of the
  !! sends, none of them started yet; those of the receives are added behind them.  `tiled`: becomes
  !! false, on all ranks, where one of them cannot tile.
  subroutine asphalt_hear(answers, now, buf, rcounts, rdispls, requests, tiled, ierror)
    type(asphalt_answers), intent(inout) :: answers
    logical, intent(in) :: now
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: rcounts(0:*), rdispls(0:*)
    integer, allocatable, intent(inout) :: requests(:)
    logical, intent(inout) :: tiled
    integer, intent(inout) :: ierror
    integer :: most, sends, slot, turn, peer, from, count

    if (associated(answers%told)) then
      ! asphalt_progress tests the request
      if (.not. now .and. answers%request /= MPI_REQUEST_NULL) return
      call take_cuts(answers, .false., most, ierror)
    end if
    if (.not. allocated(answers%cuts)) return
    tiled = answers%cuts(0) > 0
    if (tiled) then
      call tell_tiled()
      sends = size(requests)
      deallocate(requests)
      allocate(requests(sends + asphalt_posts_of(rcounts, answers%np, answers%cuts)), &
               source=MPI_REQUEST_NULL)
      slot = sends
      do turn = 1, answers%np
        peer = modulo(answers%me - turn, answers%np)
        ! both know the length of a block, and how the sender cuts it
        do from = 0, rcounts(peer) - 1, answers%cuts(peer)
          count = min(answers%cuts(peer), rcounts(peer) - from)
          slot = slot + 1
          call asphalt_irecv_at(buf, rdispls(peer) + from, count, answers%datatype, peer, 0, &
                                answers%own, requests(slot), ierror)
        end do
      end do
    end if
    deallocate(answers%cuts)
  end subroutine asphalt_hear

  !> Enters one exchange of blocks to which an iteration adds different numbers of elements.
  !!
  !! A tile is `k` iterations, the same number on all ranks; a piece of the block for rank p is what
  !! they add to it, `k*units(p)` elements, the last one shorter.  Sender and receiver tell each other
  !! here what they know of the block, which they have to agree about: where the program sends
  !! the messages itself, a receive may be longer than its message, or be for one of another time.
  !! Where no rank knows anything else than when they last agreed, that is all they tell.
  !!
  !! `comm`, `datatype`, `bytes`, `trips`, `grain`, `wanted_k`, `wanted_d`, `legal`, `scounts`,
  !! `sdispls`, `rcounts`, `own`, `me`, `np`, `d`, `ierror` and `site`: as for
  !! `asphalt_enter_uneven`; `rdispls` with them.  `units`: elements that one iteration of this rank adds to the block for
  !! each rank.  The lists are only looked at if `legal`.  `spread`: 0, the blocks lie one behind the
  !! other, each filled by all iterations; else they begin at multiples of so many elements.
  !! `apart`: the messages need a communicator of their own; else `own` is `comm`.
  !!
  !! `k`: 0, on all ranks: do not tile; else no more than the iterations of this rank, or 1.  `cuts`:
  !! the elements of the pieces that come from each rank, at least 1 if `k` is.  An exchange that is
  !! not tiled once is never tiled again on this communicator: nobody has looked at what became of
  !! the messages of the entries between.
  subroutine asphalt_enter_packed(comm, datatype, bytes, units, trips, grain, wanted_k, wanted_d, &
                                  legal, scounts, sdispls, rcounts, rdispls, spread, apart, own, &
                                  me, np, k, cuts, d, ierror, site)
    integer, intent(in) :: comm, datatype, bytes, trips, grain, wanted_k, wanted_d, spread
    logical, intent(in) :: legal, apart
    integer, intent(in) :: units(0:*), scounts(0:*), sdispls(0:*), rcounts(0:*), rdispls(0:*)
    integer, intent(out) :: own, me, np, k, d, ierror
    integer, allocatable, intent(out) :: cuts(:)
    character(*), intent(in) :: site
    type(companion), pointer :: carried
    type(site_memory), pointer :: memory
    integer, allocatable :: mine(:)
    logical :: usable, fits

    k = 0
    d = 1
    call open_exchange(comm, own, me, np, usable, ierror)
    allocate(cuts(0:np-1), source=0)
    if (.not. usable .or. (np == 1 .and. wanted_k <= 0)) return
    call find_companion(comm, carried, ierror)
    if (ierror /= MPI_SUCCESS) return
    call recall(carried, site, 0, memory)
    if (memory%resting > 0) return

    mine = [datatype, bytes, trips, spread, merge(1, 0, legal)]
    if (legal) mine = [mine, units(:np-1), scounts(:np-1), sdispls(:np-1), rcounts(:np-1), &
                       rdispls(:np-1)]
    if (allocated(memory%told)) then  ! on all ranks or on none
      fits = size(mine) == size(memory%told)
      if (fits) fits = all(mine == memory%told)
      fits = so_on_all(comm, np, fits, ierror)
      if (fits) then
        cuts = memory%cuts
      else
        deallocate(memory%told)
      end if
    end if
    if (.not. allocated(memory%told)) then
      call agree_on_blocks(comm, np, me, datatype, bytes, units, trips, grain, wanted_k, legal, &
                           scounts, sdispls, rcounts, rdispls, spread, memory%k, cuts, ierror)
      fits = memory%k > 0
    end if
    if (fits .and. apart) call private_duplicate(comm, own, wanted_k <= 0, fits, ierror)
    if (.not. fits) then
      memory%resting = 1
      cuts = 0
      return
    end if
    memory%told = mine
    memory%cuts = cuts
    k = min(memory%k, max(1, trips))
    d = min(max(1, wanted_d), int(over(int(max(1, trips), int64), int(k, int64))))
    call tell_tiled()
  end subroutine asphalt_enter_packed

  !> Whether a condition holds on all ranks.
  logical function so_on_all(comm, np, here, ierror)
    integer, intent(in) :: comm, np
    logical, intent(in) :: here
    integer, intent(inout) :: ierror
    integer :: mine(1), told(np), failed

    mine = merge(0, 1, here)
    told = mine(1)
    failed = MPI_SUCCESS
    if (np > few_ranks) then
      call MPI_Allreduce(mine, told, 1, MPI_INTEGER, MPI_MAX, comm, failed)
      told = told(1)
    else if (np > 1) then
      call MPI_Allgather(mine, 1, MPI_INTEGER, told, 1, MPI_INTEGER, comm, failed)
    end if
    if (ierror == MPI_SUCCESS) ierror = failed
    so_on_all = failed == MPI_SUCCESS .and. all(told == 0)
  end function so_on_all

  !> What all ranks come to about K, 0 where they do not tile, and the pieces that come from each.
  subroutine agree_on_blocks(comm, np, me, datatype, bytes, units, trips, grain, wanted_k, legal, &
                             scounts, sdispls, rcounts, rdispls, spread, k, cuts, ierror)
    integer, intent(in) :: comm, np, me, datatype, bytes, trips, grain, wanted_k, spread
    logical, intent(in) :: legal
    integer, intent(in) :: units(0:*), scounts(0:*), sdispls(0:*), rcounts(0:*), rdispls(0:*)
    integer, intent(out) :: k, cuts(0:np-1)
    integer, intent(inout) :: ierror
    integer, parameter :: facts = 5
    integer :: known(facts), common(facts), theirs(0:np-1), largest, failed
    logical :: dense, fits

    call is_dense(datatype, bytes, dense, ierror)
    fits = ierror == MPI_SUCCESS .and. dense .and. legal
    if (fits) fits = packed_fit(np, units, trips, scounts, sdispls, spread) .and. &
      apart_from_each_other(np, rcounts, rdispls)
    largest = 0
    if (fits) largest = maxval(units(:np-1))
    k = wanted_k
    if (wanted_k <= 0) k = chosen_k(np, .false., .true., int(largest, int64) * bytes, trips, grain)
    known = [merge(0, 1, fits), k, kibibytes(trips, largest, bytes), bytes, -bytes]
    if (np <= few_ranks) then
      call tell_all(comm, np, me, known, units, scounts, rcounts, common, theirs, failed)
    else
      call tell_each(comm, np, known, units, scounts, rcounts, common, theirs, failed)
    end if
    if (ierror == MPI_SUCCESS) ierror = failed
    k = common(2)
    fits = failed == MPI_SUCCESS .and. common(1) == 0 .and. common(4) == -common(5)
    if (wanted_k <= 0) fits = fits .and. common(3) >= least_uneven_block / 1024
    if (.not. fits) k = 0
    cuts = 0
    if (k > 0) cuts = max(1, int(min(int(k, int64) * theirs, most_elements)))
  end subroutine agree_on_blocks

  !> All ranks get what all know.  `known(1)` is 0 on ranks whose lists may be looked at; `common`:
  !! the greatest of each of `known`, `common(1)` not 0, too, where a block is longer for its sender
  !! than for its receiver or the other way round.  `theirs`: the `units` of all others for this one.
  subroutine tell_all(comm, np, me, known, units, scounts, rcounts, common, theirs, ierror)
    integer, intent(in) :: comm, np, me, known(:), units(0:*), scounts(0:*), rcounts(0:*)
    integer, intent(out) :: common(:), theirs(0:np-1), ierror
    integer :: mine(size(known) + 3*np), told(size(known) + 3*np, 0:np-1), facts, rank, other

    facts = size(known)
    mine = 0
    mine(:facts) = known
    if (known(1) == 0) mine(facts+1:) = [units(:np-1), scounts(:np-1), rcounts(:np-1)]
    told = spread(mine, 2, np)
    ierror = MPI_SUCCESS
    if (np > 1) call MPI_Allgather(mine, size(mine), MPI_INTEGER, told, size(mine), MPI_INTEGER, &
                                   comm, ierror)
    common = maxval(told(:facts,:), 2)
    theirs = told(facts+me+1,:)
    do rank = 0, np - 1
      do other = 0, np - 1
        if (told(facts+np+other+1,rank) /= told(facts+2*np+rank+1,other)) common(1) = 1
      end do
    end do
  end subroutine tell_all

  !> The same where each rank gets its part alone.
  subroutine tell_each(comm, np, known, units, scounts, rcounts, common, theirs, ierror)
    integer, intent(in) :: comm, np, known(:), units(0:*), scounts(0:*), rcounts(0:*)
    integer, intent(out) :: common(:), theirs(0:np-1), ierror
    integer :: told(2, 0:np-1), heard(2, 0:np-1), checked(size(known)), failed

    told = 0
    if (known(1) == 0) then
      told(1,:) = units(:np-1)
      told(2,:) = scounts(:np-1)
    end if
    heard = told
    call MPI_Alltoall(told, 2, MPI_INTEGER, heard, 2, MPI_INTEGER, comm, failed)
    theirs = heard(1,:)
    checked = known
    if (known(1) == 0) checked(1) = merge(0, 1, all(heard(2,:) == rcounts(:np-1)))
    call MPI_Allreduce(checked, common, size(known), MPI_INTEGER, MPI_MAX, comm, ierror)
    if (ierror == MPI_SUCCESS) ierror = failed
  end subroutine tell_each

  !> Whether the blocks that a rank sends are where its iterations put them (`asphalt_enter_packed`).
  pure logical function packed_fit(np, units, trips, counts, displs, spread) result(fit)
    integer, intent(in) :: np, units(0:*), trips, counts(0:*), displs(0:*), spread
    integer(int64) :: filled, block
    integer :: p

    fit = .false.
    filled = 0
    do p = 0, np - 1
      if (units(p) < 0 .or. counts(p) < 0) return
      block = int(units(p), int64) * max(0, trips)
      if (counts(p) > block .or. block > most_elements) return
      if (spread == 0) then
        if (block > 0 .and. displs(p) /= filled) return
        filled = filled + block
        if (filled > most_elements) return
      else if (counts(p) > 0) then
        if (spread < 0 .or. displs(p) < 0 .or. counts(p) > spread) return
        if (mod(displs(p), spread) /= 0) return
      end if
    end do
    fit = .true.
  end function packed_fit

  !> Whether no element is received twice: then it does not matter which message comes first.
  pure logical function apart_from_each_other(np, counts, displs) result(apart)
    integer, intent(in) :: np, counts(0:np-1), displs(0:np-1)
    integer :: p, end

    apart = all(counts >= 0)
    do p = 0, np - 1
      if (.not. apart) return
      if (counts(p) == 0) cycle
      end = displs(p) + counts(p)
      apart = displs(p) >= 0 .and. displs(p) <= most_elements .and. counts(p) <= most_elements
      apart = apart .and. count(counts > 0 .and. displs < end .and. displs(p) < displs + counts) == 1
    end do
  end function apart_from_each_other

  !> The number of this rank in `comm`; -1 where the exchange is not going to be tiled anyway.
  integer function asphalt_rank(comm)
    integer, intent(in) :: comm
    integer :: ierror
    logical :: between_groups

    asphalt_rank = -1
    if (comm == MPI_COMM_NULL) return
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_rank(comm, asphalt_rank, ierror)
  end function asphalt_rank

  !> Tells all ranks of `comm` how this one cuts what it sends; `later`: only begins to.
  !!
  !! `mine`: iterations of a piece, 0 where this rank would not cut; their elements; bytes of an
  !! element, 0 where this rank cannot tile; KiB of its longest block.
  subroutine tell(answers, comm, me, np, datatype, mine, later, ierror)
    type(asphalt_answers), intent(inout) :: answers
    integer, intent(in) :: comm, me, np, datatype, mine(cut_facts)
    logical, intent(in) :: later
    integer, intent(inout) :: ierror
    integer :: rank, failed

    answers%own = comm
    answers%me = me
    answers%np = np
    answers%datatype = datatype
    allocate(answers%mine(cut_facts), answers%told(cut_facts * np))
    answers%mine = mine
    answers%told = [(mine, rank = 1, np)]
    allocate(answers%request, source=MPI_REQUEST_NULL)
    if (np == 1) return  ! SMPI does not survive it
    if (later) then
      call MPI_Iallgather(answers%mine(1), cut_facts, MPI_INTEGER, answers%told(1), cut_facts, &
                          MPI_INTEGER, comm, answers%request, failed)
      asked => answers%request
    else
      call MPI_Allgather(answers%mine, cut_facts, MPI_INTEGER, answers%told, cut_facts, &
                         MPI_INTEGER, comm, failed)
    end if
    if (failed /= MPI_SUCCESS) answers%told = 0
    if (ierror == MPI_SUCCESS) ierror = failed
  end subroutine tell

  !> Takes what all ranks told.
  !!
  !! `alike`: all ranks are to have the longest pieces of those that would cut.  `answers%cuts`: the
  !! elements of the pieces of each rank, at least 1; all 0 where some rank cannot tile, or none
  !! would cut.  `most`: the KiB of the longest block of all.
  subroutine take_cuts(answers, alike, most, ierror)
    type(asphalt_answers), intent(inout) :: answers
    logical, intent(in) :: alike
    integer, intent(out) :: most
    integer, intent(inout) :: ierror
    integer :: unused(MPI_STATUS_SIZE), failed

    failed = MPI_SUCCESS
    if (answers%request /= MPI_REQUEST_NULL) &
      call MPI_Wait(answers%request, unused, failed)
    if (associated(asked, answers%request)) nullify (asked)
    deallocate(answers%request)
    if (failed /= MPI_SUCCESS) answers%told = 0
    if (ierror == MPI_SUCCESS) ierror = failed
    allocate(answers%cuts(0:answers%np-1), source=0)
    associate (told => answers%told, bytes => answers%mine(3))
      most = maxval(told(4::cut_facts))
      if (bytes > 0 .and. all(told(3::cut_facts) == bytes) .and. any(told(1::cut_facts) > 0)) then
        answers%cuts = max(1, told(2::cut_facts))
        if (alike) answers%cuts = maxval(answers%cuts, told(1::cut_facts) > 0)
      end if
    end associate
    deallocate(answers%mine, answers%told)
  end subroutine take_cuts

  !> Makes the file that the environment variable ASPHALT_TILED names, if there is one, at the first
  !! exchange that is tiled: whoever checks a program can see that it was not only the original
  !! call that was checked.
  subroutine tell_tiled()
    character(:), allocatable :: name
    integer :: length, status, unit
    logical :: taken

    if (told) return
    told = .true.
    call get_environment_variable('ASPHALT_TILED', length=length, status=status)
    if (status /= 0 .or. length == 0) return
    allocate(character(length) :: name)
    call get_environment_variable('ASPHALT_TILED', name)
    do unit = 7001, 7999
      inquire(unit=unit, opened=taken)
      if (.not. taken) exit
    end do
    open(unit, file=name, iostat=status)
    if (status == 0) close(unit)
  end subroutine tell_tiled

  !> The size of so many iterations in units of 1024 bytes.
  pure integer function kibibytes(iterations, elements, bytes)
    integer, intent(in) :: iterations, elements, bytes
    integer(int64) :: iteration

    iteration = int(elements, int64) * bytes
    kibibytes = int(min(iteration / 1024 * iterations + mod(iteration, 1024_int64) * iterations &
                        / 1024, int(huge(1), int64)))
  end function kibibytes

  !> Whether the blocks that a rank sends are where the iterations put them.
  !!
  !! Slab: they lie one behind the other, in the order of the ranks, are whole iterations, and
  !! there is nothing else that the iterations write.  Otherwise: each lies in one of the blocks of
  !! `spread` elements, from its beginning.
  pure logical function blocks_fit(np, elements, trips, counts, displs, slab, spread) result(fit)
    integer, intent(in) :: np, elements, trips, counts(0:*), displs(0:*), spread
    logical, intent(in) :: slab
    integer(int64) :: filled
    integer :: p

    fit = .false.
    filled = 0
    do p = 0, np - 1
      if (counts(p) == 0) cycle
      if (counts(p) < 0 .or. elements <= 0) return
      if (slab) then
        if (mod(counts(p), elements) /= 0 .or. displs(p) /= filled) return
        filled = filled + counts(p)
      else
        if (spread <= 0 .or. displs(p) < 0 .or. counts(p) > spread) return
        if (mod(displs(p), spread) /= 0) return
        filled = max(filled, int(counts(p), int64))
      end if
    end do
    if (filled > most_elements) return
    fit = .true.
    if (slab) fit = filled == int(elements, int64) * max(0, trips)
  end function blocks_fit

  !> The number of pieces into which blocks of `counts` elements are cut.
  pure integer function asphalt_pieces_of(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece
    integer :: p

    asphalt_pieces_of = 0
    do p = 0, np - 1
      asphalt_pieces_of = asphalt_pieces_of + pieces(counts(p), piece)
    end do
  end function asphalt_pieces_of

  !> The number of pieces in which blocks of `counts` elements arrive, that of rank p cut into pieces
  !! of `cuts(p)`.
  pure integer function asphalt_posts_of(counts, np, cuts)
    integer, intent(in) :: counts(0:*), np, cuts(0:*)
    integer :: p

    asphalt_posts_of = 0
    do p = 0, np - 1
      asphalt_posts_of = asphalt_posts_of + pieces(counts(p), cuts(p))
    end do
  end function asphalt_posts_of

  !> The number of pieces of the longest block.
  pure integer function asphalt_most_pieces(counts, np, piece)
    integer, intent(in) :: counts(0:*), np, piece

    asphalt_most_pieces = pieces(maxval(counts(:np-1)), piece)
  end function asphalt_most_pieces

  !> The number of pieces of a block of `count` elements.
  pure integer function pieces(count, piece)
    integer, intent(in) :: count, piece

    pieces = count / piece + merge(1, 0, mod(count, piece) > 0)
  end function pieces

  !> The iterations that write `elements` elements, the last of them maybe more, where one writes
  !! `unit`; 0 if none ever does.
  pure integer function asphalt_iterations(elements, unit)
    integer, intent(in) :: elements, unit

    asphalt_iterations = 0
    if (unit > 0) asphalt_iterations = int(over(int(elements, int64), int(unit, int64)))
  end function asphalt_iterations

  !> Goes on to the next piece: of the same block, or of the next one that is not empty.
  !!
  !! On entry `count` elements from `from` on of the block of rank `peer` are done; on return the
  !! next piece begins at `from`, and has `count` elements.
  pure subroutine asphalt_next_piece(counts, np, piece, peer, from, count)
    integer, intent(in) :: counts(0:*), np, piece
    integer, intent(inout) :: peer, from, count
    integer :: blocks

    from = from + count
    do blocks = 1, np
      if (from < counts(peer)) exit
      peer = mod(peer + 1, np)
      from = 0
    end do
    count = min(piece, counts(peer) - from)
  end subroutine asphalt_next_piece

  !> The number of ranks of `comm`; 1 where the exchange is not going to be tiled anyway.
  integer function asphalt_ranks(comm)
    integer, intent(in) :: comm
    integer :: ierror
    logical :: between_groups

    asphalt_ranks = 1
    if (comm == MPI_COMM_NULL) return
    call MPI_Comm_test_inter(comm, between_groups, ierror)
    if (ierror /= MPI_SUCCESS .or. between_groups) return
    call MPI_Comm_size(comm, asphalt_ranks, ierror)
  end function asphalt_ranks

  !> The number of tiles of a rank: each stream is cut into pieces of `k` iterations; slabs are a
  !! stream for each rank, `one_by_one`.
  pure integer(int64) function tiles(one_by_one, np, trips, k)
    logical, intent(in) :: one_by_one
    integer, intent(in) :: np, trips, k

    tiles = over(int(trips, int64), int(k, int64)) * merge(np, 1, one_by_one)
  end function tiles

  !> The planes of a block that a tile sends, where they are not those of its iterations.
  !!
  !! `tile` of `tiles` (from 0) has up to `k` iterations.  In the order of the loop, `ready` + t `k`
  !! of the `block` planes are final before tile t; the last tile sends what is left.  `from`:
  !! planes before those that this tile sends; `planes`: how many it sends, maybe none.
  pure subroutine asphalt_window(tile, tiles, k, ready, block, from, planes)
    integer, intent(in) :: tile, tiles, k, ready, block
    integer, intent(out) :: from, planes

    from = 0
    if (tile > 0) from = min(max(ready + tile * k, 0), block)
    planes = block - from
    if (tile < tiles - 1) planes = min(max(ready + (tile + 1) * k, 0), block) - from
  end subroutine asphalt_window

  !> The tile length where the header leaves it open; 0: tiling would not pay.
  !!
  !! `piece`: bytes that one iteration adds to one message; `trips`: iterations that fill a block.
  !! How long iterations take is not known, so that nothing may be lost where there is nothing to
  !! hide: messages have at least the size from which on they are as fast as longer ones, the last
  !! one of a block included.  Slabs send a block to one rank after the other, and the transfer of
  !! one is hidden behind the next: they need not be cut.
  pure integer function chosen_k(np, one_by_one, uneven, piece, trips, grain) result(k)
    integer, intent(in) :: np, trips, grain
    logical, intent(in) :: one_by_one, uneven
    integer(int64), intent(in) :: piece
    integer(int64) :: least, parts, length, last

    k = 0
    if (np == 1 .or. piece <= 0 .or. trips <= 0) return
    least = over(merge(good_long_message, good_message, one_by_one .or. uneven), piece)
    parts = trips / least
    if (one_by_one) then
      if (trips >= over(good_message, piece)) k = trips
      parts = min(parts, many_tiles / np)
      if (parts < least_slab_pieces) return
    else if (uneven) then
      parts = min(parts, many_uneven_tiles)
    else
      parts = min(parts, max(enough_tiles, trips / over(2 * good_message, piece)), many_tiles)
    end if
    do while (parts >= 2)
      length = over(over(int(trips, int64), parts), int(grain, int64)) * grain
      last = trips - (over(int(trips, int64), length) - 1) * length
      if (length < trips .and. last >= least) then
        k = int(length)
        return
      end if
      parts = parts - 1
    end do
  end function chosen_k

  !> A chosen tile length made longer where the runs of a tile would be too short for a derived data
  !! type; 0 where no tile has long runs.
  pure integer function in_long_runs(chosen, bytes, trips, grain, extents, along, strides) result(k)
    integer, intent(in) :: chosen, bytes, trips, grain, extents(:), along
    integer, intent(in), optional :: strides(:)
    integer(int64) :: one, length

    k = 0
    one = run(1) * bytes
    if (chosen == 0 .or. one <= 0) return
    length = chosen
    if (run(2) > run(1)) length = max(length, over(over(least_run, one), int(grain, int64)) * grain)
    if (length >= trips) return  ! one tile alone hides nothing
    if (run(int(length)) * bytes >= least_run) k = int(length)

  contains

    !> Elements of the shortest runs that sender and receiver have in a tile of so many planes.
    pure integer(int64) function run(planes)
      integer, intent(in) :: planes

      run = run_length(extents, along, planes)
      if (present(strides)) run = min(run, run_length(extents, along, planes, strides))
    end function run
  end function in_long_runs

  !> Elements that lie one behind the other in a part of a block (see `asphalt_strided`).
  pure integer(int64) function run_length(extents, along, planes, strides)
    integer, intent(in) :: extents(:), along, planes
    integer, intent(in), optional :: strides(:)
    integer(int64) :: apart
    integer :: dimension, count

    run_length = 1
    apart = 1
    do dimension = 1, size(extents)
      if (present(strides)) apart = strides(dimension)
      count = merge(planes, extents(dimension), dimension == along)
      if (count /= 1 .and. apart /= run_length) return
      run_length = run_length * count
      apart = apart * extents(dimension)
    end do
  end function run_length

  !> `a / b` rounded up, for positive numbers.
  pure integer(int64) function over(a, b)
    integer(int64), intent(in) :: a, b

    over = (a + b - 1) / b
  end function over

  !> Whether elements of `datatype` lie one behind the other, `bytes` apart, without holes, so
  !! that the n-th element of a message is the n-th element of the buffer.
  subroutine is_dense(datatype, bytes, dense, ierror)
    integer, intent(in) :: datatype, bytes
    logical, intent(out) :: dense
    integer, intent(out) :: ierror
    integer(MPI_ADDRESS_KIND) :: lower, extent
    integer :: size

    dense = .false.
    call MPI_Type_size(datatype, size, ierror)
    if (ierror /= MPI_SUCCESS) return
    call MPI_Type_get_extent(datatype, lower, extent, ierror)
    if (ierror /= MPI_SUCCESS) return
    dense = size == bytes .and. extent == bytes .and. lower == 0
  end subroutine is_dense

  !> Sets `k` to 0 unless `facts` are the same on all ranks of `comm`.
  subroutine agree(comm, facts, k, ierror)
    integer, intent(in) :: comm, facts(:)
    integer, intent(inout) :: k
    integer, intent(inout) :: ierror
    integer :: mine(2 * size(facts)), most(2 * size(facts)), failed

    mine = [facts, -facts]
    call MPI_Allreduce(mine, most, size(mine), MPI_INTEGER, MPI_MAX, comm, failed)
    if (ierror == MPI_SUCCESS) ierror = failed
    if (failed /= MPI_SUCCESS) k = 0
    if (any(most(:size(facts)) /= -most(size(facts)+1:))) k = 0
  end subroutine agree

  !> What `comm` carries, made at the first use.
  !!
  !! It is an attribute of `comm`, freed with it, and not inherited by duplicates that the program
  !! makes (two owners would free it twice).  Nothing is sent.
  subroutine find_companion(comm, carried, ierror)
    integer, intent(in) :: comm
    type(companion), pointer, intent(out) :: carried
    integer, intent(out) :: ierror
    integer(MPI_ADDRESS_KIND) :: attribute
    logical :: found

    nullify (carried)
    if (.not. private_key_exists) then
      if (.not. asphalt_is_smpi()) then
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_companion, private_key, &
                                    0_MPI_ADDRESS_KIND, ierror)
      else
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, keep_companion, private_key, &
                                    0_MPI_ADDRESS_KIND, ierror)
      end if
      if (ierror /= MPI_SUCCESS) return
      private_key_exists = .true.
    end if
    attribute = 0  ! an MPI that keeps 32 bits sets no others
    call MPI_Comm_get_attr(comm, private_key, attribute, found, ierror)
    if (ierror /= MPI_SUCCESS) return
    if (found) then
      carried => companion_of(attribute)
    else
      allocate(carried)
      attribute = attribute_of(carried)
      call MPI_Comm_set_attr(comm, private_key, attribute, ierror)
      if (ierror /= MPI_SUCCESS) deallocate(carried)
    end if
  end subroutine find_companion

  !> What stands for a companion in an attribute.
  integer(MPI_ADDRESS_KIND) function attribute_of(carried)
    type(companion), pointer, intent(in) :: carried
    type(companion_pointer), allocatable :: longer(:)
    integer :: known

    if (.not. asphalt_is_smpi()) then
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

  !> The private duplicate of `comm`, and a tag for the messages of one operation on it: no other
  !! one has it that may be under way at the same time, and `asphalt_enter` has none of these.
  !!
  !! All ranks of `comm` call it together, with the same `block`: bytes of a block, 0 where they are
  !! not known to be equal.  Not `usable`: too little has come by yet to be worth a duplicate.
  subroutine asphalt_private(comm, block, own, tag, usable)
    integer, intent(in) :: comm
    integer(int64), intent(in) :: block
    integer, intent(out) :: own, tag
    logical, intent(out) :: usable
    type(companion), pointer :: carried
    integer :: ierror

    own = MPI_COMM_NULL
    tag = 0
    call find_companion(comm, carried, ierror)
    usable = ierror == MPI_SUCCESS
    if (usable .and. block > 0) usable = .not. too_early(carried, block, .true.)
    if (usable) call private_duplicate(comm, own, .true., usable, ierror)
    if (.not. usable) return
    carried%exchanges = 1 + mod(carried%exchanges, most_tags)
    tag = carried%exchanges
  end subroutine asphalt_private

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

  !> Whether this is SimGrid's SMPI.  Version 3.32 calls the callbacks of attributes as C functions,
  !! with C's arguments, so that private communicators are not freed there; and it has wrong extents
  !! for some types.
  logical function asphalt_is_smpi()
    character(:), allocatable :: version
    integer :: length, ierror

    allocate(character(4096) :: version)  ! what the largest MPI needs
    call MPI_Get_library_version(version, length, ierror)
    asphalt_is_smpi = version(:4) == 'SMPI'
  end function asphalt_is_smpi

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

  !> Tells the compiler that `buf` may be read or written behind its back until here.
  !!
  !! What MPI_F_SYNC_REG is for (MPI-3.1 section 17.1.17), which not every MPI has.  The address
  !! is passed to a procedure of the MPI library, which no compiler can look into.
  subroutine asphalt_sync(buf)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer(MPI_ADDRESS_KIND) :: address
    integer :: ierror

    call MPI_Get_address(buf, address, ierror)
  end subroutine asphalt_sync

  !> Copies what was received into `clone` to the beginning of `buf`, a contiguous variable of any
  !! type.  The copy is one of memory, as that of the exchange was, and compilers see to it that
  !! neither side is kept in registers: what has arrived is seen, and what is copied, too.
  subroutine asphalt_copy(clone, buf)
    integer(asphalt_byte), allocatable, intent(inout) :: clone(:,:,:)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer(asphalt_byte), dimension(*) :: buf
    integer(c_size_t) :: bytes
    type(c_ptr) :: unused

    call asphalt_sync(clone)
    bytes = size(clone, 1)
    bytes = bytes * size(clone, 2) * size(clone, 3)
    unused = memcpy(buf, clone, bytes)
    call asphalt_sync(buf)
  end subroutine asphalt_copy

  !> The same for an MPI that calls it as a C function: leaves everything alone.
  integer function keep_companion()
    keep_companion = 0
  end function keep_companion

  !> Makes the data type of a part of a block, ready to be used in messages of one element.
  !!
  !! `extents`: the sizes of the block's dimensions, the fastest one first; the part has `planes` of
  !! dimension `along`, and all of the others.  `strides`: elements of `datatype` between neighbours
  !! in each dimension; by default the block is contiguous.  The elements of the part follow one
  !! another in the order of the dimensions, wherever they lie.
  subroutine asphalt_strided(datatype, extents, along, planes, new, ierror, strides)
    integer, intent(in) :: datatype, extents(:), along, planes
    integer, intent(out) :: new
    integer, intent(inout) :: ierror
    integer, intent(in), optional :: strides(:)
    integer(MPI_ADDRESS_KIND) :: lower, bytes, apart
    integer(MPI_ADDRESS_KIND) :: distance(size(extents))
    integer :: length(size(extents)), run, dimension, dims, error

    new = MPI_DATATYPE_NULL
    call MPI_Type_get_extent(datatype, lower, bytes, error)
    if (error == MPI_SUCCESS) then
      dims = 0
      run = 1
      apart = bytes
      do dimension = 1, size(extents)
        if (present(strides)) apart = strides(dimension) * bytes
        call add_dimension(merge(planes, extents(dimension), dimension == along), apart)
        apart = apart * extents(dimension)
      end do
      call MPI_Type_contiguous(run, datatype, new, error)
      do dimension = 1, dims
        if (error == MPI_SUCCESS) call enclose(length(dimension), distance(dimension))
      end do
      if (error == MPI_SUCCESS) call MPI_Type_commit(new, error)
    end if
    if (ierror == MPI_SUCCESS) ierror = error

  contains

    !> Adds a dimension, or makes the last one longer where the two are one.
    subroutine add_dimension(count, apart)
      integer, intent(in) :: count
      integer(MPI_ADDRESS_KIND), intent(in) :: apart

      if (count == 1) return
      if (dims == 0) then
        if (apart == run * bytes) then
          run = run * count
          return
        end if
      else if (apart == length(dims) * distance(dims)) then
        length(dims) = length(dims) * count
        return
      end if
      dims = dims + 1
      length(dims) = count
      distance(dims) = apart
    end subroutine add_dimension

    !> `count` times what `new` was, `apart` bytes apart.
    subroutine enclose(count, apart)
      integer, intent(in) :: count
      integer(MPI_ADDRESS_KIND), intent(in) :: apart
      integer :: inner, failed

      inner = new
      call MPI_Type_create_hvector(count, 1, apart, inner, new, error)
      call MPI_Type_free(inner, failed)
      if (error == MPI_SUCCESS) error = failed
    end subroutine enclose
  end subroutine asphalt_strided

  !> MPI_Type_free for what `asphalt_strided` has made.
  subroutine asphalt_free(datatype, ierror)
    integer, intent(inout) :: datatype, ierror
    integer :: error

    error = MPI_SUCCESS
    if (datatype /= MPI_DATATYPE_NULL) call MPI_Type_free(datatype, error)
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine asphalt_free

  !> MPI_Isend with an explicit interface.
  !!
  !! For files in which a call of MPI_Isend itself has none (`mpif.h`, some MPI modules): compilers
  !! compare all such calls of a file, and refuse buffers of different types.  `ierror` of this and
  !! the following procedures keeps an error that it already holds: the first one is reported.
  subroutine asphalt_isend(buf, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer :: error

    call MPI_Isend(buf, count, datatype, dest, tag, comm, request, error)
    call keep_first(error, ierror)
  end subroutine asphalt_isend

  !> MPI_Issend with an explicit interface.
  subroutine asphalt_issend(buf, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer :: error

    call MPI_Issend(buf, count, datatype, dest, tag, comm, request, error)
    call keep_first(error, ierror)
  end subroutine asphalt_issend

  !> MPI_Irecv with an explicit interface.
  !!
  !! What comes from nobody is there: MPICH 4.0 would have another status for it than MPI_Recv has.
  subroutine asphalt_irecv(buf, count, datatype, source, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, source, tag, comm
    integer, intent(out) :: request
    integer, intent(inout), optional :: ierror
    integer :: error

    request = MPI_REQUEST_NULL
    if (source == MPI_PROC_NULL) return
    call MPI_Irecv(buf, count, datatype, source, tag, comm, request, error)
    call keep_first(error, ierror)
  end subroutine asphalt_irecv

  !> MPI_Isendrecv_replace of MPI-4.0 (section 3.10): what is in `buf` leaves from a copy, which
  !! MPI_Sendrecv_replace makes as well, and what comes is received into it.  `request` is that of
  !! the receive; `asphalt_wait` waits for both.  Where nothing comes, it is that of the send: receives
  !! from nobody have no requests of their own, by which their sends could be found.
  !!
  !! It waits for nobody, so that the copy is made however long it is; elements with gaps are packed.
  subroutine asphalt_isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
                                       request)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, sendtag, source, recvtag, comm
    integer, intent(out) :: request
    type(message), pointer :: new
    type(c_ptr) :: unused
    integer(int64) :: room
    integer :: length, error
    logical :: dense

    nullify (new)
    if (dest /= MPI_PROC_NULL) then
      allocate (new)
      new%count = count
      dense = .false.
      call MPI_Type_size(datatype, new%bytes, error)
      if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
      if (.not. dense) then
        new%count = 1
        call MPI_Pack_size(count, datatype, comm, new%bytes, error)
      end if
      call find_room(new, int(usual_mebibytes, int64) * 1048576_int64)
      if (.not. allocated(new%copy)) then
        room = max(1_int64, int(new%count, int64) * new%bytes)
        allocate (new%copy(room))
        copied = copied + room
      end if
      call asphalt_sync(buf)
      length = 0
      if (dense) then
        unused = memcpy(new%copy, buf, int(count, c_size_t) * new%bytes)
      else
        call MPI_Pack(buf, count, datatype, new%copy, new%bytes, length, comm, error)
      end if
      call asphalt_sync(new%copy)
    end if
    call asphalt_irecv(buf, count, datatype, source, recvtag, comm, request)
    if (.not. associated(new)) return
    if (dense) then
      call MPI_Isend(new%copy, count, datatype, dest, sendtag, comm, new%request, error)
    else
      call MPI_Isend(new%copy, length, MPI_PACKED, dest, sendtag, comm, new%request, error)
    end if
    new%from_nobody = source == MPI_PROC_NULL
    if (new%from_nobody) then
      request = new%request
      new%request = MPI_REQUEST_NULL
    end if
    new%received = request
    new%next => replaced
    replaced => new
  end subroutine asphalt_isendrecv_replace

  !> Waits for what left the buffer of a receive that is complete, if that is one of those above, or
  !! for nothing, where `received` was the request of the send: `from_nobody`, then.  An MPI may have
  !! one request for all sends that are complete at once; any of their copies is free then.
  subroutine finish_replaced(received, from_nobody)
    integer, intent(in) :: received
    logical, intent(out) :: from_nobody
    type(message), pointer :: one, previous
    integer :: ignored(MPI_STATUS_SIZE), error

    from_nobody = .false.
    nullify (previous)
    one => replaced
    do while (associated(one))
      if (one%received == received) exit
      previous => one
      one => one%next
    end do
    if (.not. associated(one)) return
    from_nobody = one%from_nobody
    call MPI_Wait(one%request, ignored, error)
    if (associated(previous)) then
      previous%next => one%next
    else
      replaced => one%next
    end if
    if (copied <= int(usual_mebibytes, int64) * 1048576_int64) then
      one%next => spare
      spare => one
    else
      copied = copied - size(one%copy, kind=int64)
      deallocate (one)
    end if
  end subroutine finish_replaced

  !> Reports the first error alone.
  subroutine keep_first(error, ierror)
    integer, intent(in) :: error
    integer, intent(inout), optional :: ierror

    if (.not. present(ierror)) return
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine keep_first

  !> MPI_Wait for a transfer from or to `buf`, which the caller may access again afterwards.
  !!
  !! That `buf` is an argument tells the compiler that the call may change it (as MPI_F_sync_reg
  !! does, MPI-4.0 section 19.1.17).
  subroutine asphalt_wait(request, buf, status)
    integer, intent(inout) :: request
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(out), optional :: status(MPI_STATUS_SIZE)
    integer :: found(MPI_STATUS_SIZE), started, error
    logical :: from_nobody

    started = request
    call MPI_Wait(request, found, error)
    call asphalt_waited(started, buf, from_nobody)
    if (from_nobody) then
      request = MPI_REQUEST_NULL
      call MPI_Wait(request, found, error)  ! an empty status
      found(MPI_SOURCE) = MPI_PROC_NULL
    end if
    if (present(status)) status = found
  end subroutine asphalt_wait

  !> What is left to do when MPI has waited for the request `started`, which is complete; whether
  !! nothing was received because the source is nobody.
  subroutine asphalt_waited(started, buf, from_nobody)
    integer, intent(in) :: started
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    logical, intent(out) :: from_nobody

    from_nobody = started == MPI_REQUEST_NULL
    if (associated(replaced) .and. .not. from_nobody) call finish_replaced(started, from_nobody)
    call asphalt_sync(buf)
  end subroutine asphalt_waited

  ! The non-blocking forms of collective operations.  An operation has to have the same form on all
  ! ranks (MPI-4.0 section 6.12): calls of these stand where all ranks come.  The buffer that may be
  ! MPI_IN_PLACE is `asphalt_in_place` then.

  !> The first byte of a buffer, or what MPI has for MPI_IN_PLACE.  `at_once`: the non-blocking form
  !! would send from memory that is free again when it returns, as SMPI does with the copy that it
  !! makes of what is sent in place; all ranks of such an operation have it in place.
  subroutine find_given(buf, byte, at_once)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer(int8), pointer, intent(out) :: byte
    logical, intent(out), optional :: at_once
    integer(MPI_ADDRESS_KIND) :: address, own
    integer :: ierror

    call MPI_Get_address(buf, address, ierror)
    call MPI_Get_address(asphalt_in_place, own, ierror)
    if (present(at_once)) at_once = .false.
    if (address == own) then
      call find_in_place(MPI_Get_address, address)
      if (present(at_once)) at_once = asphalt_is_smpi()
    end if
    call c_f_pointer(transfer(address, c_null_ptr), byte)
  end subroutine find_given

  !> The address of MPI_IN_PLACE.  `get_address`: MPI_Get_address, without the interface that it has
  !! here, for under SMPI MPI_IN_PLACE is an external procedure.
  subroutine find_in_place(get_address, address)
    use mpi, only: MPI_IN_PLACE
    external :: get_address
    integer(MPI_ADDRESS_KIND), intent(out) :: address
    integer :: ierror

    call get_address(MPI_IN_PLACE, address, ierror)
  end subroutine find_in_place

  !> MPI_Ibcast with an explicit interface.  That of SMPI 3.32 crashes on a communicator of one rank,
  !! where nothing has to be sent: the blocking one, which finds the same errors, is called there.
  subroutine asphalt_ibcast(buffer, count, datatype, root, comm, request)
    !GCC$ attributes no_arg_check :: buffer
    !DIR$ ignore_tkr buffer
    integer, dimension(*), asynchronous :: buffer
    integer, intent(in) :: count, datatype, root, comm
    integer, intent(out) :: request
    integer :: ranks, error

    logical :: at_once

    call MPI_Comm_size(comm, ranks, error)
    at_once = ranks == 1
    if (at_once) at_once = asphalt_is_smpi()
    if (at_once) then
      call MPI_Bcast(buffer, count, datatype, root, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ibcast(buffer, count, datatype, root, comm, request, error)
    end if
  end subroutine asphalt_ibcast

  !> MPI_Ireduce with an explicit interface.
  subroutine asphalt_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: count, datatype, op, root, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error

    call find_given(sendbuf, sent)
    call MPI_Ireduce(sent, recvbuf, count, datatype, op, root, comm, request, error)
  end subroutine asphalt_ireduce

  !> MPI_Iallreduce with an explicit interface.
  subroutine asphalt_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: count, datatype, op, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Allreduce(sent, recvbuf, count, datatype, op, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Iallreduce(sent, recvbuf, count, datatype, op, comm, request, error)
    end if
  end subroutine asphalt_iallreduce

  !> MPI_Iscan with an explicit interface.
  subroutine asphalt_iscan(sendbuf, recvbuf, count, datatype, op, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: count, datatype, op, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Scan(sent, recvbuf, count, datatype, op, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Iscan(sent, recvbuf, count, datatype, op, comm, request, error)
    end if
  end subroutine asphalt_iscan

  !> MPI_Iexscan with an explicit interface.
  subroutine asphalt_iexscan(sendbuf, recvbuf, count, datatype, op, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: count, datatype, op, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Exscan(sent, recvbuf, count, datatype, op, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Iexscan(sent, recvbuf, count, datatype, op, comm, request, error)
    end if
  end subroutine asphalt_iexscan

  !> MPI_Ireduce_scatter with an explicit interface.
  subroutine asphalt_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in), dimension(*), asynchronous :: recvcounts
    integer, intent(in) :: datatype, op, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Reduce_scatter(sent, recvbuf, recvcounts, datatype, op, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ireduce_scatter(sent, recvbuf, recvcounts, datatype, op, comm, request, error)
    end if
  end subroutine asphalt_ireduce_scatter

  !> MPI_Ireduce_scatter_block with an explicit interface.
  subroutine asphalt_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: recvcount, datatype, op, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Reduce_scatter_block(sent, recvbuf, recvcount, datatype, op, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ireduce_scatter_block(sent, recvbuf, recvcount, datatype, op, comm, request, error)
    end if
  end subroutine asphalt_ireduce_scatter_block

  !> MPI_Igather with an explicit interface.
  subroutine asphalt_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
                             comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error

    call find_given(sendbuf, sent)
    call MPI_Igather(sent, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
                     request, error)
  end subroutine asphalt_igather

  !> MPI_Igatherv with an explicit interface.
  subroutine asphalt_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
                              root, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error

    call find_given(sendbuf, sent)
    call MPI_Igatherv(sent, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
                      comm, request, error)
  end subroutine asphalt_igatherv

  !> MPI_Iscatter with an explicit interface.
  subroutine asphalt_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
                              comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    integer, intent(out) :: request
    integer(int8), pointer :: received
    integer :: error

    call find_given(recvbuf, received)
    call MPI_Iscatter(sendbuf, sendcount, sendtype, received, recvcount, recvtype, root, comm, &
                      request, error)
  end subroutine asphalt_iscatter

  !> MPI_Iscatterv with an explicit interface.
  subroutine asphalt_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
                               recvtype, root, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvcount, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, displs
    integer, intent(out) :: request
    integer(int8), pointer :: received
    integer :: error

    call find_given(recvbuf, received)
    call MPI_Iscatterv(sendbuf, sendcounts, displs, sendtype, received, recvcount, recvtype, &
                       root, comm, request, error)
  end subroutine asphalt_iscatterv

  !> MPI_Iallgather with an explicit interface.
  subroutine asphalt_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                                request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error

    call find_given(sendbuf, sent)
    call MPI_Iallgather(sent, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request, &
                        error)
  end subroutine asphalt_iallgather

  !> MPI_Iallgatherv with an explicit interface.
  subroutine asphalt_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                 recvtype, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error

    call find_given(sendbuf, sent)
    call MPI_Iallgatherv(sent, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, &
                         request, error)
  end subroutine asphalt_iallgatherv

  !> MPI_Ialltoall with an explicit interface.
  subroutine asphalt_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                               request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Alltoall(sent, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ialltoall(sent, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                         request, error)
    end if
  end subroutine asphalt_ialltoall

  !> MPI_Ialltoallv with an explicit interface.
  subroutine asphalt_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                                rdispls, recvtype, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Alltoallv(sent, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
                         recvtype, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ialltoallv(sent, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
                          recvtype, comm, request, error)
    end if
  end subroutine asphalt_ialltoallv

  !> MPI_Ialltoallw with an explicit interface.  The types may be arrays of type(MPI_Datatype), too:
  !! that is one default integer (MPI-4.0 section 19.3.5).
  subroutine asphalt_ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
                                rdispls, recvtypes, comm, request)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf, sendtypes, recvtypes
    !DIR$ ignore_tkr sendbuf, recvbuf, sendtypes, recvtypes
    integer, dimension(*), asynchronous :: sendbuf, recvbuf, sendtypes, recvtypes
    integer, intent(in) :: comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    integer, intent(out) :: request
    integer(int8), pointer :: sent
    integer :: error
    logical :: at_once

    call find_given(sendbuf, sent, at_once)
    if (at_once) then
      call MPI_Alltoallw(sent, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, &
                         recvtypes, comm, error)
      request = MPI_REQUEST_NULL
    else
      call MPI_Ialltoallw(sent, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, &
                          recvtypes, comm, request, error)
    end if
  end subroutine asphalt_ialltoallw

  !> MPI_Wait for an operation with two buffers, which the caller may access again afterwards.
  subroutine asphalt_wait_both(request, sendbuf, recvbuf)
    integer, intent(inout) :: request
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer :: unused(MPI_STATUS_SIZE), error

    call MPI_Wait(request, unused, error)
    call asphalt_sync(sendbuf)
    call asphalt_sync(recvbuf)
  end subroutine asphalt_wait_both

  !> How many of `iterations` a tile has, each of which takes about `work` operations: `wanted`, or,
  !! where this is 0, as many as leave a few tiles that are each worth a message; of many, a multiple
  !! of 16, so that tiles begin where the vectors of the whole loop do.
  !!
  !! All ranks that pass the same get the same.
  pure integer function asphalt_segment(wanted, iterations, work)
    integer, intent(in) :: wanted, iterations
    real, intent(in) :: work

    asphalt_segment = wanted
    if (wanted <= 0) then
      asphalt_segment = max((iterations - 1) / usual_segments + 1, &
                            ceiling(least_segment_work / max(work, 1.0)))
      if (asphalt_segment >= 4*whole_vectors) then
        asphalt_segment = whole_vectors*((asphalt_segment - 1) / whole_vectors + 1)
      end if
    end if
    asphalt_segment = max(1, min(asphalt_segment, iterations))
  end function asphalt_segment

  !> MPI_Irecv into a copy of a buffer that `asphalt_take` will name; the first message that is
  !! posted is the first to be taken.
  !!
  !! All copies together have at most `mebibytes`: the receive of a message that finds no room is
  !! started when others have been taken, at the latest when it is to be taken itself.  Receives of
  !! a queue are started in their order.
  subroutine asphalt_post(queue, count, datatype, source, tag, comm, mebibytes)
    type(asphalt_queue), intent(inout) :: queue
    integer, intent(in) :: count, datatype, source, tag, comm
    integer, intent(in), optional :: mebibytes
    type(message), pointer :: new
    logical :: dense
    integer :: error

    queue%mebibytes = usual_mebibytes
    if (present(mebibytes)) queue%mebibytes = mebibytes
    allocate (new)
    new%count = count
    new%datatype = datatype
    new%source = source
    new%tag = tag
    new%comm = comm
    dense = .false.
    call MPI_Type_size(datatype, new%bytes, error)
    if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
    if (.not. dense) new%bytes = 0
    if (associated(queue%last)) then
      queue%last%next => new
    else
      queue%first => new
    end if
    queue%last => new
    if (.not. associated(queue%waiting)) queue%waiting => new
    call post_with_room(queue)
  end subroutine asphalt_post

  !> Starts the receives of a queue up to the first one that gets no copy.
  subroutine post_with_room(queue)
    type(asphalt_queue), intent(inout) :: queue
    type(message), pointer :: next
    integer :: error

    do while (associated(queue%waiting))
      next => queue%waiting
      call find_room(next, int(queue%mebibytes, int64) * 1048576_int64)
      if (.not. allocated(next%copy)) return
      call MPI_Irecv(next%copy, next%count, next%datatype, next%source, next%tag, next%comm, &
                     next%request, error)
      next%posted = .true.
      queue%waiting => next%next
    end do
  end subroutine post_with_room

  !> Gives a message a copy, a spare one if it can, unless all copies together would have more than
  !! `limit` bytes or the elements of its data type have gaps.
  subroutine find_room(new, limit)
    type(message), intent(inout) :: new
    integer(int64), intent(in) :: limit
    type(message), pointer :: used, previous
    integer(int64) :: bytes

    bytes = max(1_int64, int(new%count, int64) * new%bytes)
    if (allocated(new%copy) .or. new%bytes == 0 .or. bytes > limit) return
    nullify (previous)
    used => spare
    do while (associated(used))
      if (size(used%copy, kind=int64) >= bytes) then
        if (associated(previous)) then
          previous%next => used%next
        else
          spare => used%next
        end if
        call move_alloc(used%copy, new%copy)
        deallocate (used)
        return
      end if
      previous => used
      used => used%next
    end do
    do while (copied + bytes > limit .and. associated(spare))
      used => spare
      spare => used%next
      copied = copied - size(used%copy, kind=int64)
      deallocate (used)
    end do
    if (copied + bytes > limit) return
    allocate (new%copy(bytes))
    copied = copied + bytes
  end subroutine find_room

  !> Waits for the first message of a queue and puts what has arrived into `buf`, as MPI_Recv does:
  !! of a message that is shorter than its count, the elements behind it stay as they are.
  subroutine asphalt_take(queue, buf, status)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(out), optional :: status(MPI_STATUS_SIZE)
    integer :: found(MPI_STATUS_SIZE), request, datatype, arrived, error
    logical :: from_nobody

    call asphalt_oldest(queue, buf, request, datatype)
    call MPI_Wait(request, found, error)
    arrived = 0
    if (error == MPI_SUCCESS) call MPI_Get_count(found, datatype, arrived, error)
    call asphalt_taken(queue, buf, arrived, from_nobody)
    if (from_nobody) then
      found(MPI_SOURCE) = MPI_PROC_NULL
      found(MPI_TAG) = MPI_ANY_TAG
    end if
    if (present(status)) status = found
  end subroutine asphalt_take

  !> The request to wait for before the first message of a queue is taken, and its data type.  What
  !! has no copy is received into `buf`.
  subroutine asphalt_oldest(queue, buf, request, datatype)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(out) :: request, datatype
    type(message), pointer :: first
    integer :: error

    first => queue%first
    if (.not. first%posted) then
      queue%waiting => first%next
      call MPI_Irecv(buf, first%count, first%datatype, first%source, first%tag, first%comm, &
                     first%request, error)
    end if
    request = first%request
    datatype = first%datatype
  end subroutine asphalt_oldest

  !> Takes the first message of a queue, which has `arrived` with so many elements, out of it, and
  !! posts what there is room for now; whether its source is nobody.
  subroutine asphalt_taken(queue, buf, arrived, from_nobody)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: arrived
    logical, intent(out) :: from_nobody
    type(message), pointer :: first
    type(c_ptr) :: unused

    first => queue%first
    from_nobody = first%source == MPI_PROC_NULL
    if (first%posted) then
      call asphalt_sync(first%copy)
      if (arrived > 0 .and. arrived <= first%count) then
        unused = memcpy(buf, first%copy, int(arrived, c_size_t) * first%bytes)
      end if
    end if
    call asphalt_sync(buf)
    first%request = MPI_REQUEST_NULL
    queue%first => first%next
    if (.not. associated(queue%first)) nullify (queue%last)
    if (allocated(first%copy)) then
      first%next => spare
      spare => first
    else
      deallocate (first)
    end if
    call post_with_room(queue)
  end subroutine asphalt_taken

  !> MPI_Send from a copy: returns whatever the receiver does, as a standard send may (MPI-3.1
  !! section 3.4), unless all copies together would have more than `mebibytes`.
  !!
  !! The oldest message is waited for where there are too many, and all of them in MPI_Finalize.
  subroutine asphalt_send(buf, count, datatype, dest, tag, comm, mebibytes)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: count, datatype, dest, tag, comm
    integer, intent(in), optional :: mebibytes
    type(message), pointer :: new
    type(c_ptr) :: unused
    integer(int64) :: limit
    integer :: ignored(MPI_STATUS_SIZE), error
    logical :: dense, done

    limit = usual_mebibytes
    if (present(mebibytes)) limit = mebibytes
    limit = limit * 1048576_int64
    do while (associated(leaving))  ! those that have left
      call MPI_Test(leaving%request, done, MPI_STATUS_IGNORE, error)
      if (.not. done) exit
      call forget_oldest()
    end do
    allocate (new)
    new%count = count
    dense = .false.
    call MPI_Type_size(datatype, new%bytes, error)
    if (error == MPI_SUCCESS) call is_dense(datatype, new%bytes, dense, error)
    if (.not. dense) new%bytes = 0
    do
      call find_room(new, limit)
      if (.not. associated(leaving) .or. new%bytes == 0) exit
      if (allocated(new%copy) .and. now_leaving < most_leaving) exit
      call MPI_Wait(leaving%request, ignored, error)
      call forget_oldest()
    end do
    if (.not. allocated(new%copy)) then
      call MPI_Isend(buf, count, datatype, dest, tag, comm, new%request, error)
      call MPI_Wait(new%request, ignored, error)
      deallocate (new)
      return
    end if
    call wait_in_finalize()
    call asphalt_sync(buf)
    unused = memcpy(new%copy, buf, int(count, c_size_t) * new%bytes)
    call asphalt_sync(new%copy)
    call MPI_Isend(new%copy, count, datatype, dest, tag, comm, new%request, error)
    if (associated(last_leaving)) then
      last_leaving%next => new
    else
      leaving => new
    end if
    last_leaving => new
    now_leaving = now_leaving + 1
  end subroutine asphalt_send

  !> The copy of the oldest message, which has left, is spare.
  subroutine forget_oldest()
    type(message), pointer :: oldest

    oldest => leaving
    leaving => oldest%next
    if (.not. associated(leaving)) nullify (last_leaving)
    oldest%next => spare
    spare => oldest
    now_leaving = now_leaving - 1
  end subroutine forget_oldest

  !> Makes MPI_Finalize wait for the messages that leave from copies: it first deletes what
  !! MPI_COMM_SELF carries (MPI-3.1 section 8.7.1).
  subroutine wait_in_finalize()
    integer :: error

    if (finalize_waits) return
    finalize_waits = .true.
    if (.not. asphalt_is_smpi()) then
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_for_leaving, finalize_key, &
                                  0_MPI_ADDRESS_KIND, error)
    else
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_for_all, finalize_key, &
                                  0_MPI_ADDRESS_KIND, error)
    end if
    if (error == MPI_SUCCESS) call MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, &
                                                     0_MPI_ADDRESS_KIND, error)
  end subroutine wait_in_finalize

  !> Called by MPI_Finalize.
  subroutine wait_for_leaving(comm, key, attribute, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, state

    ierror = MPI_SUCCESS
    if (key /= finalize_key .or. attribute /= state) return
    ! not MPI_COMM_SELF under Open MPI 4.1, which passes no communicator that Fortran knows
    if (comm /= MPI_COMM_NULL) ierror = wait_for_all()
  end subroutine wait_for_leaving

  !> The same for an MPI that calls it as a C function.
  integer function wait_for_all()
    integer :: ignored(MPI_STATUS_SIZE), error

    do while (associated(leaving))
      call MPI_Wait(leaving%request, ignored, error)
      call forget_oldest()
    end do
    wait_for_all = MPI_SUCCESS
  end function wait_for_all

  !> MPI_Isend from the element `displacement` of `buf` on, counted from 0 as MPI_ALLTOALLV does.
  !!
  !! The elements of `datatype` lie one behind the other without holes.
  subroutine asphalt_isend_at(buf, displacement, count, datatype, dest, tag, comm, request, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, count, datatype, dest, tag, comm
    integer, intent(out) :: request
    integer, intent(inout) :: ierror
    integer(int8), pointer :: byte

    call find(buf, displacement, datatype, byte)
    call asphalt_isend(byte, count, datatype, dest, tag, comm, request, ierror)
  end subroutine asphalt_isend_at

  !> MPI_Irecv from the element `displacement` of `buf` on, counted from 0 as MPI_ALLTOALLV does.
  subroutine asphalt_irecv_at(buf, displacement, count, datatype, source, tag, comm, request, &
                              ierror)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, count, datatype, source, tag, comm
    integer, intent(out) :: request
    integer, intent(inout) :: ierror
    integer(int8), pointer :: byte

    call find(buf, displacement, datatype, byte)
    call asphalt_irecv(byte, count, datatype, source, tag, comm, request, ierror)
  end subroutine asphalt_irecv_at

  !> The first byte of an element of `buf`, counted from 0.
  !!
  !! A dummy argument of any type has no elements, but it has an address (MPI-3.1 section 4.1.5),
  !! which is that of C on every machine with one address space.
  subroutine find(buf, displacement, datatype, byte)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: displacement, datatype
    integer(int8), pointer, intent(out) :: byte
    integer(MPI_ADDRESS_KIND) :: address, lower, extent
    integer :: ierror

    call MPI_Get_address(buf, address, ierror)
    call MPI_Type_get_extent(datatype, lower, extent, ierror)
    call c_f_pointer(transfer(address + displacement * extent, c_null_ptr), byte)
  end subroutine find

  !> Lets MPI work on the messages: MPI_Test on one pending request, which is expected last.
  !!
  !! Testing one costs a few hundredths of a microsecond, testing all of a ring grows with it.  A test
  !! of what is not there yet moves all messages; one of what is there may move none, and has it
  !! taken in now, where the next tile waits, and not at the end, beside the link.  So a request is
  !! tested until it is complete.  Of `requests`, no more than a third are those of sends; the others
  !! are for tiles, later ones behind, around a ring of twice as many as are in flight.
  !!
  !! `turn` counts the calls, from 0 on; only some of those in a tile test at all: of `k`, or of
  !! `times` as many.
  subroutine asphalt_progress(requests, turn, k, ierror, times)
    integer, intent(inout) :: requests(:), turn, ierror
    integer, intent(in) :: k
    integer, intent(in), optional :: times
    integer :: distance, sends, receives, later, looked_at, request

    distance = 1 + (k - 1) / chances_a_tile
    if (present(times)) then
      distance = int(min(1 + (int(k, int64) * max(1, times) - 1) / chances_a_tile, &
                         int(huge(distance), int64)))
    end if
    turn = turn + 1
    if (mod(turn, distance) /= 0 .or. size(requests) == 0) return
    sends = size(requests) / 3
    receives = size(requests) - sends
    if (expected_last < 1 .or. expected_last > receives) expected_last = receives
    later = 0
    do looked_at = 0, receives
      request = 1 + modulo(expected_last - 1 + later - looked_at, receives)
      if (is_pending(requests(sends + request), ierror)) then
        expected_last = request
        return
      end if
      if (looked_at == 0) later = 1 + receives / 2  ! as many tiles later as are in flight
    end do
    do looked_at = 1, sends
      if (is_pending(requests(looked_at), ierror)) return
    end do
    if (.not. associated(asked)) return
    if (.not. is_pending(asked, ierror)) nullify (asked)  ! what the ranks tell each other at first
  end subroutine asphalt_progress

  !> Tests a request, if it is one: whether it is not complete.
  logical function is_pending(request, ierror)
    integer, intent(inout) :: request, ierror
    logical :: done
    integer :: error

    is_pending = .false.
    if (request == asphalt_no_request) return
    call MPI_Test(request, done, MPI_STATUS_IGNORE, error)
    if (ierror == MPI_SUCCESS) ierror = error
    is_pending = .not. done
  end function is_pending

  !> MPI_Waitall without statuses.
  subroutine asphalt_waitall(count, requests, ierror)
    integer, intent(in) :: count
    integer, intent(inout) :: requests(count), ierror
    integer :: error

    call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE, error)
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine asphalt_waitall
end module asphalt_rt

!> Collective operations as messages between two ranks, one for each block, so that the work on one
!! block, before or behind the operation, overlaps with the messages of the others.
!!
!! `asphalt_alltoall_blocks` and its like stand for the call and start it.  The work behind it asks
!! for each block with `asphalt_await_block`; where the work is before it, `later` is true, each
!! block is sent with `asphalt_send_block` when it is filled, and `asphalt_send_blocks` stands where
!! the call stood.  `asphalt_finish_blocks` completes what is left.
!!
!! Messages travel on the private duplicate of the communicator.  All sends are started, and nothing
!! between the start and `asphalt_finish_blocks` waits for anything but these messages: so each of
!! them is received, in whatever order the receives are posted.  Blocks that are so short that their
!! messages would cost more than what they hide are left to the non-blocking form of the operation,
!! which is decided by what is equal on all ranks; so are intercommunicators.
!!
!! Of `asphalt_bcast_blocks` and `asphalt_alltoallw_blocks`, what is filled and waited for are planes
!! of the buffers, counted from 0 from where these begin, instead of the blocks of ranks.
module asphalt_decomposition
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr, c_ptr, c_signed_char, c_size_t
  use asphalt_rt
  use mpi, only: MPI_ADDRESS_KIND, MPI_BYTE, MPI_COMBINER_NAMED, MPI_REQUEST_NULL, MPI_ROOT, &
                 MPI_STATUS_SIZE, MPI_STATUSES_IGNORE, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_blocks
  public :: asphalt_alltoall_blocks, asphalt_alltoallv_blocks, asphalt_alltoallw_blocks
  public :: asphalt_allgather_blocks, asphalt_allgatherv_blocks
  public :: asphalt_gather_blocks, asphalt_gatherv_blocks
  public :: asphalt_scatter_blocks, asphalt_scatterv_blocks
  public :: asphalt_bcast_blocks
  public :: asphalt_to_take, asphalt_await_block
  public :: asphalt_to_send, asphalt_send_block, asphalt_send_blocks
  public :: asphalt_finish_blocks

  integer, parameter :: int64 = selected_int_kind(18)

  !> Bytes of a block from which on it is worth a message of its own.
  integer(int64), parameter :: least_message = 16384_int64
  !> More planes than a buffer has.
  integer(int64), parameter :: beyond = 2_int64**60
  !> Where the ranks do not know of all blocks how long they are.
  integer(int64), parameter :: not_known = 0_int64
  !> Receives that are posted at first: at least so many, and so many bytes.  More of them share
  !! the link, and the first block comes later; fewer do not hide what it takes to post them.
  integer, parameter :: least_window = 2
  integer(int64), parameter :: bytes_in_window = 131072_int64
  !> Of a broadcast: the most pieces, if there are not more ranks, and how many times as long as its
  !! bytes take once to go over a link it may be on its way as pieces.
  integer, parameter :: most_pieces = 16, longest_way = 2

  !> One buffer: what goes to, or comes from, each rank.
  type :: divided
    integer(MPI_ADDRESS_KIND) :: address = 0
    integer, allocatable :: counts(:), datatypes(:), requests(:)
    !> In bytes.
    integer(MPI_ADDRESS_KIND), allocatable :: displs(:)
    !> Whether the message is still to be started.
    logical, allocatable :: left(:)
    !> Where blocks are known by the planes of the buffer: the first and the last one that the block
    !! of a rank touches, and how many of these are still to be filled.
    integer(int64), allocatable :: first(:), last(:), missing(:)
  end type divided

  !> Operations that may start later.
  integer, parameter :: alltoall = 1, scatter = 2, scatterv = 3, bcast = 4, alltoallw = 5

  !> A broadcast in pieces: from whom a rank gets them, or -1, and to whom it sends them on.
  type :: broadcast
    integer :: parent = -1
    integer, allocatable :: children(:)
    !> All elements, those of a piece (of the last one at most), those of a plane of the buffer.
    integer(int64) :: elements = 0, piece = 1, plane = 1
    integer :: pieces = 0
    !> The pieces that are complete here, and have been sent on.
    integer :: complete = 0
    integer :: posted = 0
  end type broadcast

  !> A collective operation on its way.
  type :: asphalt_blocks
    private
    integer :: comm = 0, tag = 0, me = 0, np = 1
    !> The rank that receives or sends all, or -1.
    integer :: root = -1
    type(divided) :: out, in
    !> How many receives may be under way at once.
    integer :: window = least_window
    !> Whether it is one operation; its request, and the arguments where it is to start later.
    logical :: whole = .true.
    integer :: request = MPI_REQUEST_NULL
    integer :: operation = 0, sendcount = 0, sendtype = 0, recvcount = 0, recvtype = 0
    integer :: users_comm = 0
    integer, allocatable :: sendcounts(:), sdispls(:), sendtypes(:)
    integer, allocatable :: recvcounts(:), rdispls(:), recvtypes(:)
    !> Of a broadcast that is no one operation.
    logical :: spreads = .false.
    type(broadcast) :: cast
  end type asphalt_blocks

  interface
    subroutine MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
                             rdispls, recvtypes, comm, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: sendbuf, recvbuf
      !DIR$ ignore_tkr sendbuf, recvbuf
      integer, dimension(*), asynchronous :: sendbuf, recvbuf
      integer, intent(in) :: comm
      integer, intent(in), dimension(*) :: sendcounts, sdispls, sendtypes, recvcounts, rdispls, &
                                           recvtypes
      integer, intent(out) :: ierror
    end subroutine MPI_Alltoallw

    subroutine MPI_Get_address(location, address, ierror)
      import :: MPI_ADDRESS_KIND
      implicit none
      !GCC$ attributes no_arg_check :: location
      !DIR$ ignore_tkr location
      integer, dimension(*), asynchronous :: location
      integer(MPI_ADDRESS_KIND), intent(out) :: address
      integer, intent(out) :: ierror
    end subroutine MPI_Get_address

    type(c_ptr) function memcpy(to, from, bytes) bind(c, name='memcpy')
      import :: c_ptr, c_signed_char, c_size_t
      implicit none
      !GCC$ attributes no_arg_check :: to, from
      !DIR$ ignore_tkr to, from
      integer(c_signed_char), dimension(*) :: to, from
      integer(c_size_t), value :: bytes
    end function memcpy
  end interface

contains

  !> MPI_Alltoall.
  subroutine asphalt_alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                     comm, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later

    call open_blocks(blocks, comm, -1, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call keep(blocks, alltoall, sendcount, sendtype, recvcount, recvtype, comm)
    else
      call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                  one_by_one(sendcount, blocks%np))
      call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                  one_by_one(recvcount, blocks%np))
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_alltoall_blocks

  !> MPI_Alltoallv.
  subroutine asphalt_alltoallv_blocks(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                                      rdispls, recvtype, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: np

    call open_blocks(blocks, comm, -1, not_known)
    if (blocks%whole) then
      call asphalt_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                              rdispls, recvtype, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide(blocks%out, sendbuf, sendtype, sendcounts(:np), wide(sdispls(:np)))
    call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(rdispls(:np)))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_alltoallv_blocks

  !> MPI_Alltoallw.  Its blocks may lie anywhere and have gaps: which planes of a buffer they touch
  !! is found out here.  `sendplane`, `recvplane`: the sizes of the dimensions of a plane, whose
  !! product may be no default integer; `sendbits`, `recvbits`: the bits of an element; all 0 where no
  !! loop works on the planes of the buffer.
  !!
  !! A block is sent when all planes are filled that it touches, and a plane is there when all blocks
  !! are that touch it.  Of an empty block the type is not looked at.
  subroutine asphalt_alltoallw_blocks(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
                                      recvcounts, rdispls, recvtypes, comm, sendplane, sendbits, &
                                      recvplane, recvbits, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf, sendtypes, recvtypes
    !DIR$ ignore_tkr sendbuf, recvbuf, sendtypes, recvtypes
    integer, dimension(*), asynchronous :: sendbuf, recvbuf, sendtypes, recvtypes
    integer, intent(in) :: comm, sendplane(:), sendbits, recvplane(:), recvbits
    integer, intent(in), dimension(*), asynchronous :: sendcounts, sdispls, recvcounts, rdispls
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    integer :: np

    call open_blocks(blocks, comm, -1, not_known)
    np = blocks%np
    if (blocks%whole) then
      call keep(blocks, alltoallw, 0, 0, 0, 0, comm)
      allocate (blocks%sendcounts(np), source=sendcounts(:np))
      allocate (blocks%sdispls(np), source=sdispls(:np))
      allocate (blocks%sendtypes(np), source=handles(sendtypes, np))
      allocate (blocks%recvcounts(np), source=recvcounts(:np))
      allocate (blocks%rdispls(np), source=rdispls(:np))
      allocate (blocks%recvtypes(np), source=handles(recvtypes, np))
    else
      call divide_by_types(blocks%out, sendbuf, handles(sendtypes, np), sendcounts(:np), &
                           sdispls(:np), sendbits / 8 * elements(sendplane))
      call divide_by_types(blocks%in, recvbuf, handles(recvtypes, np), recvcounts(:np), &
                           rdispls(:np), recvbits / 8 * elements(recvplane))
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_alltoallw_blocks

  !> The elements of an array, by the sizes of its dimensions.
  pure integer(int64) function elements(sizes)
    integer, intent(in) :: sizes(:)

    elements = product(int(max(sizes, 0), int64))
  end function elements

  !> An array of handles as integers, which those of type(MPI_Datatype) are, too.
  function handles(types, np)
    !GCC$ attributes no_arg_check :: types
    !DIR$ ignore_tkr types
    integer, dimension(*), asynchronous :: types
    integer, intent(in) :: np
    integer :: handles(np)
    integer(MPI_ADDRESS_KIND) :: address
    integer, pointer :: found(:)
    integer :: error

    call MPI_Get_address(types, address, error)
    call c_f_pointer(transfer(address, c_null_ptr), found, [np])
    handles = found
  end function handles

  !> MPI_Allgather.
  subroutine asphalt_allgather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                      comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, comm
    type(asphalt_blocks), intent(inout) :: blocks

    call open_blocks(blocks, comm, -1, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call asphalt_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
                              blocks%request)
      return
    end if
    call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                at_once(blocks%np))
    call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                one_by_one(recvcount, blocks%np))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_allgather_blocks

  !> MPI_Allgatherv.
  subroutine asphalt_allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                       recvtype, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64) :: bytes
    integer :: np, error

    call MPI_Comm_size(comm, np, error)
    bytes = max(1_int64, bytes_of(1, recvtype) * sum(int(recvcounts(:np), int64)) / np)
    call open_blocks(blocks, comm, -1, bytes)
    if (blocks%whole) then
      call asphalt_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                               recvtype, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, np), at_once(np))
    call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(displs(:np)))
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_allgatherv_blocks

  !> MPI_Gather.
  subroutine asphalt_gather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                   root, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    type(asphalt_blocks), intent(inout) :: blocks

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(sendcount, sendtype)))
    if (blocks%whole) then
      call asphalt_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
                           blocks%request)
      return
    end if
    call divide_for_one(blocks, blocks%out, sendbuf, sendtype, sendcount)
    if (blocks%me == root) then
      call divide(blocks%in, recvbuf, recvtype, spread_out(recvcount, blocks%np), &
                  one_by_one(recvcount, blocks%np))
    else
      call divide_for_none(blocks, blocks%in)
    end if
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_gather_blocks

  !> MPI_Gatherv.
  subroutine asphalt_gatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                    recvtype, root, comm, blocks)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: recvcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: np

    call open_blocks(blocks, comm, root, not_known)
    if (blocks%whole) then
      call asphalt_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
                            root, comm, blocks%request)
      return
    end if
    np = blocks%np
    call divide_for_one(blocks, blocks%out, sendbuf, sendtype, sendcount)
    if (blocks%me == root) then
      call divide(blocks%in, recvbuf, recvtype, recvcounts(:np), wide(displs(:np)))
    else
      call divide_for_none(blocks, blocks%in)
    end if
    call start(blocks, sendbuf, recvbuf)
  end subroutine asphalt_gatherv_blocks

  !> MPI_Scatter.
  subroutine asphalt_scatter_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                    root, comm, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root, comm
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(recvcount, recvtype)))
    if (blocks%whole) then
      call keep(blocks, scatter, sendcount, sendtype, recvcount, recvtype, comm)
    else
      if (blocks%me == root) then
        call divide(blocks%out, sendbuf, sendtype, spread_out(sendcount, blocks%np), &
                    one_by_one(sendcount, blocks%np))
      else
        call divide_for_none(blocks, blocks%out)
      end if
      call divide_for_one(blocks, blocks%in, recvbuf, recvtype, recvcount)
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_scatter_blocks

  !> MPI_Scatterv.
  subroutine asphalt_scatterv_blocks(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
                                     recvtype, root, comm, blocks, later)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvcount, recvtype, root, comm
    integer, intent(in), dimension(*), asynchronous :: sendcounts, displs
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    integer :: np

    call open_blocks(blocks, comm, root, not_known)
    np = blocks%np
    if (blocks%whole) then
      call keep(blocks, scatterv, 0, sendtype, recvcount, recvtype, comm)
      allocate (blocks%sendcounts(np), source=0)
      allocate (blocks%sdispls(np), source=0)
      if (root == blocks%me .or. root == MPI_ROOT) then
        blocks%sendcounts = sendcounts(:np)
        blocks%sdispls = displs(:np)
      end if
    else
      if (blocks%me == root) then
        call divide(blocks%out, sendbuf, sendtype, sendcounts(:np), wide(displs(:np)))
      else
        call divide_for_none(blocks, blocks%out)
      end if
      call divide_for_one(blocks, blocks%in, recvbuf, recvtype, recvcount)
    end if
    call start(blocks, sendbuf, recvbuf, later)
  end subroutine asphalt_scatterv_blocks

  !> MPI_Bcast of a buffer with planes, which take the place of blocks; `plane`: the sizes of the
  !! dimensions of one.
  subroutine asphalt_bcast_blocks(buffer, count, datatype, root, comm, plane, blocks, later)
    !GCC$ attributes no_arg_check :: buffer
    !DIR$ ignore_tkr buffer
    integer, dimension(*), asynchronous :: buffer
    integer, intent(in) :: count, datatype, root, comm, plane(:)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in), optional :: later
    logical :: waits, between_groups
    integer :: error

    call open_blocks(blocks, comm, root, max(1_int64, bytes_of(count, datatype)))
    call keep(blocks, bcast, count, datatype, count, datatype, comm)
    call MPI_Comm_test_inter(comm, between_groups, error)
    if (blocks%np == 1 .and. .not. between_groups) then
      blocks%whole = .false.
    else if (.not. blocks%whole) then
      call open_spread(blocks, buffer, count, datatype, plane)
      blocks%whole = .not. blocks%spreads
    end if
    waits = .false.
    if (present(later)) waits = later
    if (.not. waits) call asphalt_send_blocks(blocks, buffer)
  end subroutine asphalt_bcast_blocks

  !> The value that the variable of a loop from `first` to `last` has in its iteration `turn`, which
  !! goes from `first` to `last`, too, where it works on one received block after the other: the own
  !! block first, then those that come first.  `zero`: the value for the block of rank 0, or for the
  !! first plane.
  pure integer function asphalt_to_take(blocks, turn, first, last, zero)
    type(asphalt_blocks), intent(in) :: blocks
    integer, intent(in) :: turn, first, last, zero

    asphalt_to_take = turned(own_place(blocks%in, blocks%me) + zero - turn + first, first, last)
  end function asphalt_to_take

  !> The same of a loop that fills the blocks that are sent: `turn` goes from `first` to `last`, and
  !! the own block comes last, where the loop goes over those of all ranks.
  pure integer function asphalt_to_send(blocks, turn, first, last, zero)
    type(asphalt_blocks), intent(in) :: blocks
    integer, intent(in) :: turn, first, last, zero

    asphalt_to_send = turned(own_place(blocks%out, blocks%me) + zero + turn - first + 1, first, &
                             last)
  end function asphalt_to_send

  !> Where the own block is: the rank, or the last plane that it touches.
  pure integer(int64) function own_place(side, me)
    type(divided), intent(in) :: side
    integer, intent(in) :: me

    own_place = me
    if (.not. allocated(side%last)) return
    if (side%first(me + 1) <= side%last(me + 1)) own_place = side%last(me + 1)
  end function own_place

  !> A value from `first` to `last`, behind which the first one comes again.
  pure integer function turned(place, first, last)
    integer(int64), intent(in) :: place
    integer, intent(in) :: first, last

    turned = first + int(modulo(place - first, int(last, int64) - first + 1))
  end function turned

  !> Waits for the block of a rank, or for a plane, which the caller may access afterwards.  Of what
  !! is no rank, there is nothing to wait for.
  subroutine asphalt_await_block(blocks, rank, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ ignore_tkr recvbuf
    integer, dimension(*), asynchronous :: recvbuf
    integer :: from, unused(MPI_STATUS_SIZE), error

    if (blocks%whole) then
      call MPI_Wait(blocks%request, unused, error)
    else if (blocks%spreads) then
      call pass_on_until(blocks, (int(rank, int64) + 1) * blocks%cast%plane)
    else if (blocks%operation == bcast) then
      continue  ! one rank
    else if (allocated(blocks%in%last)) then
      call await(blocks, blocks%in%first <= rank .and. rank <= blocks%in%last)
    else if (rank >= 0 .and. rank < blocks%np) then
      call await(blocks, [(from == rank, from = 0, blocks%np - 1)])
    end if
    call asphalt_sync(recvbuf)
  end subroutine asphalt_await_block

  !> Waits for the blocks of some ranks.
  subroutine await(blocks, wanted)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in) :: wanted(:)
    integer :: turn, from, unused(MPI_STATUS_SIZE), error
    logical :: done

    if (.not. any(wanted)) return
    if (any(blocks%in%left)) then
      ! all that was posted is here: the network is faster than the work, or late ranks come now
      call MPI_Testall(blocks%np, blocks%in%requests, done, MPI_STATUSES_IGNORE, error)
      if (done) blocks%window = min(2 * blocks%window, blocks%np)
      do turn = 1, blocks%np
        from = modulo(blocks%me - turn, blocks%np)
        if (wanted(from + 1)) call receive(blocks, from)
      end do
      call post(blocks)
    end if
    do from = 1, blocks%np
      if (wanted(from)) call MPI_Wait(blocks%in%requests(from), unused, error)
    end do
    if (any(blocks%in%left)) call post(blocks)
  end subroutine await

  !> Sends the block of a rank, or those that touch a plane and no other one that is still to be
  !! filled: the caller does not change it any more, and says so once.
  subroutine asphalt_send_block(blocks, rank, sendbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ ignore_tkr sendbuf
    integer, dimension(*), asynchronous :: sendbuf

    call asphalt_sync(sendbuf)
    if (blocks%spreads) call fill_until(blocks, (int(rank, int64) + 1) * blocks%cast%plane)
    if (blocks%whole .or. blocks%operation == bcast) return
    if (allocated(blocks%out%missing)) then
      call fill(blocks, rank)
    else if (rank >= 0 .and. rank < blocks%np) then
      call send(blocks, rank)
    end if
  end subroutine asphalt_send_block

  !> Sends the blocks that a plane completes.
  subroutine fill(blocks, plane)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: plane
    integer :: turn, to

    associate (out => blocks%out)
      do turn = 1, blocks%np
        to = modulo(blocks%me + turn, blocks%np) + 1
        if (plane < out%first(to) .or. plane > out%last(to)) cycle
        out%missing(to) = out%missing(to) - 1
        if (out%missing(to) == 0) call send(blocks, to - 1)
      end do
    end associate
  end subroutine fill

  !> Sends the blocks that are not sent yet.
  subroutine asphalt_send_blocks(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf  ! of operations that have two buffers
    integer :: turn

    call asphalt_sync(sendbuf)
    if (blocks%whole) then
      call start_whole(blocks, sendbuf, recvbuf)
      return
    end if
    if (blocks%spreads) then
      call fill_until(blocks, blocks%cast%elements)
      call post_pieces(blocks)
    end if
    if (blocks%operation == bcast) return
    do turn = 1, blocks%np
      call send(blocks, modulo(blocks%me + turn, blocks%np))
    end do
  end subroutine asphalt_send_blocks

  !> Waits for everything: both buffers are the caller's again.
  subroutine asphalt_finish_blocks(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf
    integer :: unused(MPI_STATUS_SIZE), error

    if (blocks%whole) then
      call MPI_Wait(blocks%request, unused, error)
    else if (blocks%spreads) then
      call pass_on_until(blocks, blocks%cast%elements)
      call MPI_Waitall(size(blocks%out%requests), blocks%out%requests, MPI_STATUSES_IGNORE, error)
    else if (blocks%operation /= bcast) then
      blocks%window = blocks%np
      call post(blocks)
      call MPI_Waitall(blocks%np, blocks%in%requests, MPI_STATUSES_IGNORE, error)
      call MPI_Waitall(blocks%np, blocks%out%requests, MPI_STATUSES_IGNORE, error)
    end if
    call asphalt_sync(sendbuf)
    if (present(recvbuf)) call asphalt_sync(recvbuf)
  end subroutine asphalt_finish_blocks

  !> Decides whether an operation is carried out as messages, by what all ranks know to be equal:
  !! the communicator, and how many bytes a block has, or that this is `not_known`.
  subroutine open_blocks(blocks, comm, root, bytes)
    type(asphalt_blocks), intent(out) :: blocks
    integer, intent(in) :: comm, root
    integer(int64), intent(in) :: bytes
    logical :: between_groups, usable
    integer :: error

    blocks%root = root
    call MPI_Comm_test_inter(comm, between_groups, error)
    if (error /= MPI_SUCCESS) return
    if (between_groups) then
      call MPI_Comm_remote_size(comm, blocks%np, error)
      return
    end if
    call MPI_Comm_size(comm, blocks%np, error)
    if (error == MPI_SUCCESS) call MPI_Comm_rank(comm, blocks%me, error)
    if (error /= MPI_SUCCESS .or. (bytes > 0 .and. bytes < least_message)) return
    call asphalt_private(comm, bytes, blocks%comm, blocks%tag, usable)
    blocks%whole = .not. usable
  end subroutine open_blocks

  !> What a buffer has for each rank; `displs`: in elements.
  subroutine divide(side, buf, datatype, counts, displs)
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatype, counts(:)
    integer(MPI_ADDRESS_KIND), intent(in) :: displs(:)
    integer(MPI_ADDRESS_KIND) :: lower, extent
    integer :: error

    call MPI_Get_address(buf, side%address, error)
    call MPI_Type_get_extent(datatype, lower, extent, error)
    allocate (side%counts(size(counts)), source=counts)
    allocate (side%datatypes(size(counts)), source=datatype)
    allocate (side%displs(size(counts)), source=displs * extent)
    allocate (side%requests(size(counts)), source=MPI_REQUEST_NULL)
    allocate (side%left(size(counts)), source=.true.)
  end subroutine divide

  !> The same with a datatype for each rank, and `displs` in bytes; `plane`: the bytes of a plane.
  subroutine divide_by_types(side, buf, datatypes, counts, displs, plane)
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatypes(:), counts(:), displs(:)
    integer(int64), intent(in) :: plane
    integer :: rank

    call divide(side, buf, MPI_BYTE, counts, wide(displs))
    side%datatypes = merge(datatypes, MPI_BYTE, counts > 0)
    allocate (side%first(size(counts)), side%last(size(counts)), side%missing(size(counts)))
    do rank = 1, size(counts)
      call find_planes(side%datatypes(rank), counts(rank), side%displs(rank), plane, &
                       side%first(rank), side%last(rank), side%missing(rank))
    end do
  end subroutine divide_by_types

  !> The planes that a block touches: of an empty one none, and all of them where their size is not
  !! known, or the extent of the type may be wrong.  Elements of the block may lie in any order, and
  !! in front of where it begins.
  subroutine find_planes(datatype, count, displacement, plane, first, last, missing)
    integer, intent(in) :: datatype, count
    integer(MPI_ADDRESS_KIND), intent(in) :: displacement
    integer(int64), intent(in) :: plane
    integer(int64), intent(out) :: first, last, missing
    integer(MPI_ADDRESS_KIND) :: lower, extent, true_lower, true_extent, apart
    integer(int64) :: from, to
    integer :: error
    logical :: known

    first = 0
    last = -1
    missing = 0
    if (count <= 0) return
    if (bytes_of(1, datatype) == 0) return
    known = plane > 0
    if (known) known = has_extents(datatype)
    if (.not. known) then
      first = -beyond
      last = beyond
      missing = beyond
      return
    end if
    call MPI_Type_get_extent(datatype, lower, extent, error)
    call MPI_Type_get_true_extent(datatype, true_lower, true_extent, error)
    apart = (count - 1) * extent
    from = displacement + true_lower + min(0_MPI_ADDRESS_KIND, apart)
    to = displacement + true_lower + true_extent - 1 + max(0_MPI_ADDRESS_KIND, apart)
    first = (from - modulo(from, plane)) / plane
    last = (to - modulo(to, plane)) / plane
    missing = last - first + 1
  end subroutine find_planes

  !> Whether the extents that MPI tells of a type are right.  For a subarray of one element SMPI 3.32
  !! tells those of the element, as if it lay where the array begins, and for a type that was resized
  !! what it was resized to is the true extent, too: predefined types are believed, and no others.
  logical function has_extents(datatype)
    integer, intent(in) :: datatype
    integer :: integers, addresses, datatypes, combiner, error

    has_extents = .not. asphalt_is_smpi()
    if (has_extents) return
    call MPI_Type_get_envelope(datatype, integers, addresses, datatypes, combiner, error)
    has_extents = error == MPI_SUCCESS .and. combiner == MPI_COMBINER_NAMED
  end function has_extents

  !> The same for a buffer that has something for the root alone.
  subroutine divide_for_one(blocks, side, buf, datatype, count)
    type(asphalt_blocks), intent(in) :: blocks
    type(divided), intent(inout) :: side
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer, intent(in) :: datatype, count

    call divide(side, buf, datatype, spread_out(count, blocks%np), at_once(blocks%np))
    side%left = .false.
    side%left(blocks%root + 1) = .true.
  end subroutine divide_for_one

  !> The same for a buffer that means nothing on this rank.
  subroutine divide_for_none(blocks, side)
    type(asphalt_blocks), intent(in) :: blocks
    type(divided), intent(inout) :: side

    allocate (side%requests(blocks%np), source=MPI_REQUEST_NULL)
    allocate (side%left(blocks%np), source=.false.)
  end subroutine divide_for_none

  !> The same count for all ranks.
  pure function spread_out(count, np) result(counts)
    integer, intent(in) :: count, np
    integer :: counts(np)

    counts = count
  end function spread_out

  !> Displacements of blocks of `count` elements, one behind the other.
  pure function one_by_one(count, np) result(displs)
    integer, intent(in) :: count, np
    integer(MPI_ADDRESS_KIND) :: displs(np)
    integer :: rank

    displs = [(int(rank, MPI_ADDRESS_KIND) * count, rank = 0, np - 1)]
  end function one_by_one

  !> Displacements of one block for all ranks.
  pure function at_once(np) result(displs)
    integer, intent(in) :: np
    integer(MPI_ADDRESS_KIND) :: displs(np)

    displs = 0
  end function at_once

  !> Displacements that do not overflow.
  elemental integer(MPI_ADDRESS_KIND) function wide(displacement)
    integer, intent(in) :: displacement

    wide = displacement
  end function wide

  !> Bytes of a block.
  integer(int64) function bytes_of(count, datatype)
    integer, intent(in) :: count, datatype
    integer :: bytes, error

    call MPI_Type_size(datatype, bytes, error)
    bytes_of = 0
    if (error == MPI_SUCCESS) bytes_of = int(count, int64) * bytes
  end function bytes_of

  !> Remembers the arguments of an operation that is started as one.
  subroutine keep(blocks, operation, sendcount, sendtype, recvcount, recvtype, comm)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: operation, sendcount, sendtype, recvcount, recvtype, comm

    blocks%operation = operation
    blocks%sendcount = sendcount
    blocks%sendtype = sendtype
    blocks%recvcount = recvcount
    blocks%recvtype = recvtype
    blocks%users_comm = comm
  end subroutine keep

  !> Starts an operation as one, if it has not been started.
  subroutine start_whole(blocks, sendbuf, recvbuf)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf
    integer, dimension(*), asynchronous, optional :: recvbuf
    integer :: error

    select case (blocks%operation)
    case (bcast)
      call asphalt_ibcast(sendbuf, blocks%sendcount, blocks%sendtype, blocks%root, &
                          blocks%users_comm, blocks%request)
    case (alltoallw)  ! where the call stood; MPI_Ialltoallw of Open MPI 4.1 loses derived types
      call MPI_Alltoallw(sendbuf, blocks%sendcounts, blocks%sdispls, blocks%sendtypes, recvbuf, &
                         blocks%recvcounts, blocks%rdispls, blocks%recvtypes, blocks%users_comm, &
                         error)
    case (alltoall)
      call asphalt_ialltoall(sendbuf, blocks%sendcount, blocks%sendtype, recvbuf, &
                             blocks%recvcount, blocks%recvtype, blocks%users_comm, blocks%request)
    case (scatter)
      call asphalt_iscatter(sendbuf, blocks%sendcount, blocks%sendtype, recvbuf, &
                            blocks%recvcount, blocks%recvtype, blocks%root, blocks%users_comm, &
                            blocks%request)
    case (scatterv)
      call asphalt_iscatterv(sendbuf, blocks%sendcounts, blocks%sdispls, blocks%sendtype, recvbuf, &
                             blocks%recvcount, blocks%recvtype, blocks%root, blocks%users_comm, &
                             blocks%request)
    end select
  end subroutine start_whole

  !> Starts an operation: all of its messages, or where blocks are filled `later` all receives, for
  !! then the sends come one after the other.
  subroutine start(blocks, sendbuf, recvbuf, later)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    integer, dimension(*), asynchronous :: sendbuf, recvbuf
    logical, intent(in), optional :: later
    logical :: waits

    waits = .false.
    if (present(later)) waits = later
    if (.not. blocks%whole) then
      call open_window(blocks, waits)
      call post(blocks)
    end if
    if (.not. waits) call asphalt_send_blocks(blocks, sendbuf, recvbuf)
  end subroutine start

  !> How many receives are posted at first; all of them where the sends come one after the other.
  subroutine open_window(blocks, waits)
    type(asphalt_blocks), intent(inout) :: blocks
    logical, intent(in) :: waits
    integer(int64) :: bytes
    integer :: rank

    if (waits) then
      blocks%window = blocks%np
    else if (any(blocks%in%left)) then
      bytes = 0
      do rank = 1, blocks%np
        bytes = bytes + bytes_of(blocks%in%counts(rank), blocks%in%datatypes(rank))
      end do
      bytes = bytes / blocks%np
      blocks%window = int(min(int(blocks%np, int64), &
                              max(int(least_window, int64), bytes_in_window / max(1_int64, bytes))))
    end if
  end subroutine open_window

  !> Starts the send to a rank, if it has not been started; what is the own one's is copied.
  subroutine send(blocks, rank)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    integer(c_signed_char), pointer :: byte
    integer :: to

    to = rank + 1
    if (.not. blocks%out%left(to)) return
    blocks%out%left(to) = .false.
    if (rank == blocks%me) then
      call copy_own(blocks)
    else
      call find(blocks%out, to, byte)
      call asphalt_isend(byte, blocks%out%counts(to), blocks%out%datatypes(to), rank, blocks%tag, &
                         blocks%comm, blocks%out%requests(to))
    end if
  end subroutine send

  !> Posts the next receives, as many as may be under way.
  subroutine post(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer :: turn, first, direction, under_way

    first = blocks%me
    direction = -1
    if (blocks%root >= 0) then  ! the loops of a root keep their order
      first = -1
      direction = 1
    end if
    under_way = count(blocks%in%requests /= MPI_REQUEST_NULL)
    do turn = 1, blocks%np
      if (under_way >= blocks%window) return
      associate (rank => modulo(first + direction * turn, blocks%np))
        if (.not. blocks%in%left(rank + 1)) cycle
        call receive(blocks, rank)
        if (rank /= blocks%me) under_way = under_way + 1
      end associate
    end do
  end subroutine post

  !> Posts the receive from a rank, if it has not been posted.
  subroutine receive(blocks, rank)
    type(asphalt_blocks), intent(inout) :: blocks
    integer, intent(in) :: rank
    integer(c_signed_char), pointer :: byte
    integer :: from

    from = rank + 1
    if (.not. blocks%in%left(from)) return
    blocks%in%left(from) = .false.
    if (rank == blocks%me) return  ! copied when it would be sent
    call find(blocks%in, from, byte)
    call asphalt_irecv(byte, blocks%in%counts(from), blocks%in%datatypes(from), rank, blocks%tag, &
                       blocks%comm, blocks%in%requests(from))
  end subroutine receive

  !> Copies the block that a rank has for itself; as a message, unless it is known to have no gaps and
  !! to begin where it is passed.
  subroutine copy_own(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: from, to
    integer(MPI_ADDRESS_KIND) :: lower, extent, true_lower, true_extent
    type(c_ptr) :: unused
    integer :: own, bytes, request, ignored(MPI_STATUS_SIZE), error
    logical :: dense

    own = blocks%me + 1
    associate (type => blocks%out%datatypes(own), other => blocks%in%datatypes(own))
      call MPI_Type_size(type, bytes, error)
      call MPI_Type_get_extent(type, lower, extent, error)
      call MPI_Type_get_true_extent(type, true_lower, true_extent, error)
      call find(blocks%out, own, from)
      call find(blocks%in, own, to)
      dense = type == other .and. all([lower, true_lower] == 0) .and. &
              all([extent, true_extent] == bytes)
      if (dense) dense = has_extents(type)
      if (dense) then
        unused = memcpy(to, from, int(blocks%out%counts(own), c_size_t) * bytes)
        return
      end if
      call asphalt_irecv(to, blocks%in%counts(own), other, blocks%me, blocks%tag, blocks%comm, &
                         blocks%in%requests(own))
      call asphalt_isend(from, blocks%out%counts(own), type, blocks%me, blocks%tag, blocks%comm, &
                         request)
    end associate
    call MPI_Wait(request, ignored, error)
    call MPI_Wait(blocks%in%requests(own), ignored, error)
  end subroutine copy_own

  !> Cuts a broadcast into pieces, and finds out on which way they come and go; they do not where
  !! one operation takes less time.  All that this depends on is the same on all ranks.
  subroutine open_spread(blocks, buffer, count, datatype, plane)
    type(asphalt_blocks), intent(inout) :: blocks
    !GCC$ attributes no_arg_check :: buffer
    !DIR$ ignore_tkr buffer
    integer, dimension(*), asynchronous :: buffer
    integer, intent(in) :: count, datatype, plane(:)
    integer(int64) :: bytes
    integer :: pieces, place, rank, piece

    bytes = bytes_of(count, datatype)
    if (bytes < 1) return
    pieces = int(max(1_int64, min(int(max(most_pieces, blocks%np), int64), bytes / least_message)))
    associate (cast => blocks%cast, np => blocks%np)
      ! in turns of a piece: along a line, and down a tree
      if (min(pieces + np - 2, pieces * levels(np)) > longest_way * pieces) return
      blocks%spreads = .true.
      cast%elements = count
      cast%plane = elements(plane)
      cast%piece = (cast%elements + pieces - 1) / pieces
      cast%pieces = int((cast%elements + cast%piece - 1) / cast%piece)
      place = modulo(blocks%me - blocks%root, np)
      if (pieces + np - 2 <= pieces * levels(np)) then
        if (place > 0) cast%parent = modulo(blocks%me - 1, np)
        cast%children = [(modulo(blocks%me + 1, np), rank = place + 1, min(place + 1, np - 1))]
      else
        if (place > 0) cast%parent = modulo(blocks%root + place - lowest(place), np)
        cast%children = modulo(blocks%root + in_tree(place, np), np)
      end if
      call divide(blocks%in, buffer, datatype, &
                  [(int(min(cast%piece, cast%elements - (piece - 1) * cast%piece)), &
                    piece = 1, cast%pieces)], &
                  [(int((piece - 1) * cast%piece, MPI_ADDRESS_KIND), piece = 1, cast%pieces)])
      allocate (blocks%out%requests(cast%pieces * size(cast%children)), source=MPI_REQUEST_NULL)
    end associate
  end subroutine open_spread

  !> The levels of a binomial tree of `np` ranks.
  pure integer function levels(np)
    integer, intent(in) :: np

    levels = 0
    do while (ishft(1, levels) < np)
      levels = levels + 1
    end do
  end function levels

  !> The lowest bit of a number above 0.
  pure integer function lowest(place)
    integer, intent(in) :: place

    lowest = iand(place, not(place - 1))
  end function lowest

  !> The places to which that of a binomial tree of `np` ranks sends, the largest subtree first.
  pure function in_tree(place, np) result(children)
    integer, intent(in) :: place, np
    integer, allocatable :: children(:)
    integer :: bit, low

    low = ishft(1, levels(np))
    if (place > 0) low = lowest(place)
    allocate (children(0))
    bit = low / 2
    do while (bit > 0)
      if (place + bit < np) children = [children, place + bit]
      bit = bit / 2
    end do
  end function in_tree

  !> Posts the receives of the next pieces of a broadcast: more at once would share the link.
  subroutine post_pieces(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: byte
    integer :: piece

    if (blocks%cast%parent < 0) return
    do piece = blocks%cast%posted + 1, min(blocks%cast%complete + least_window, blocks%cast%pieces)
      blocks%cast%posted = piece
      call find(blocks%in, piece, byte)
      call asphalt_irecv(byte, blocks%in%counts(piece), blocks%in%datatypes(piece), &
                         blocks%cast%parent, blocks%tag, blocks%comm, blocks%in%requests(piece))
    end do
  end subroutine post_pieces

  !> Sends the pieces of a broadcast that the root has filled: all of the first `elements`.
  subroutine fill_until(blocks, elements)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64), intent(in) :: elements

    if (blocks%cast%parent >= 0) return
    associate (cast => blocks%cast)
      do while (cast%complete < cast%pieces)
        if (elements < min(cast%elements, (cast%complete + 1) * cast%piece)) exit
        call pass_on(blocks)
      end do
    end associate
  end subroutine fill_until

  !> Waits for the first `elements` of a broadcast; whatever has come is sent on.
  subroutine pass_on_until(blocks, elements)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(int64), intent(in) :: elements
    integer :: unused(MPI_STATUS_SIZE), error
    logical :: done

    associate (cast => blocks%cast)
      do while (cast%complete < cast%pieces)
        associate (request => blocks%in%requests(cast%complete + 1))
          if (cast%complete * cast%piece < elements) then
            call MPI_Wait(request, unused, error)
          else
            call MPI_Test(request, done, unused, error)
            if (.not. done) exit
          end if
        end associate
        call pass_on(blocks)
        call post_pieces(blocks)
      end do
      if (size(blocks%out%requests) > 0) &
        call MPI_Testall(size(blocks%out%requests), blocks%out%requests, done, &
                         MPI_STATUSES_IGNORE, error)
    end associate
  end subroutine pass_on_until

  !> Sends the next piece of a broadcast on: it is complete.
  subroutine pass_on(blocks)
    type(asphalt_blocks), intent(inout) :: blocks
    integer(c_signed_char), pointer :: byte
    integer :: child, next

    associate (cast => blocks%cast)
      cast%complete = cast%complete + 1
      call find(blocks%in, cast%complete, byte)
      do child = 1, size(cast%children)
        next = (cast%complete - 1) * size(cast%children) + child
        call asphalt_isend(byte, blocks%in%counts(cast%complete), &
                           blocks%in%datatypes(cast%complete), cast%children(child), blocks%tag, &
                           blocks%comm, blocks%out%requests(next))
      end do
    end associate
  end subroutine pass_on

  !> The first byte of the block of a rank, counted from 1.
  subroutine find(side, rank, byte)
    type(divided), intent(in) :: side
    integer, intent(in) :: rank
    integer(c_signed_char), pointer, intent(out) :: byte

    call c_f_pointer(transfer(side%address + side%displs(rank), c_null_ptr), byte)
  end subroutine find
end module asphalt_decomposition
