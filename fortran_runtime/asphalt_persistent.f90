! Persistent communication requests (MPI-4.0 section 3.9).
!
! For the other modules of the runtime
!   may_keep                       whether requests may be kept at all
!   number_of                      the number of a communicator: its handle may come to mean another
!                                  one, its number does not
!   is_open_mpi                    whether this is Open MPI
!   numbering                      what tells when a communicator with a number is freed
!   MPI_Send_init, MPI_Recv_init   their interfaces
module asphalt_persistent
  use asphalt_core, only: is_smpi
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMM_NULL_COPY_FN, MPI_COMM_SELF, &
                 MPI_SUCCESS, MPI_THREAD_MULTIPLE
  implicit none
  private
  ! for the other modules of the runtime
  public :: may_keep, is_open_mpi, number_of, numbering, MPI_Send_init, MPI_Recv_init

  !> The attribute of communicators with a number (MPI-4.0 section 7.7), and the last number.  That of
  !! MPI_COMM_SELF is 0.
  type :: numbering
    logical :: exists = .false.
    integer :: key = 0
    integer(MPI_ADDRESS_KIND) :: last = 0
  end type numbering

  ! buffers of any type and rank: see asphalt_core
  interface
    subroutine MPI_Send_init(buf, count, datatype, dest, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, dest, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Send_init

    subroutine MPI_Recv_init(buf, count, datatype, source, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, source, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Recv_init
  end interface

contains

  !> Whether this MPI, as it was initialised, lets anything be kept: with MPI_THREAD_MULTIPLE the
  !! tables would be shared, and SMPI 3.32 calls the callbacks of attributes wrongly.
  logical function may_keep()
    logical, save :: asked = .false., answer = .false.
    integer :: level, error

    if (.not. asked) then
      call MPI_Query_thread(level, error)
      answer = error == MPI_SUCCESS .and. level /= MPI_THREAD_MULTIPLE
      if (answer) answer = .not. is_smpi()
      asked = .true.
    end if
    may_keep = answer
  end function may_keep

  !> Whether this is Open MPI.
  logical function is_open_mpi()
    character(:), allocatable :: version
    integer :: length, ierror

    allocate(character(4096) :: version)  ! what the largest MPI needs
    call MPI_Get_library_version(version, length, ierror)
    is_open_mpi = index(version, 'Open MPI') == 1
  end function is_open_mpi

  !> The number of a communicator, which it gets at the first use; 0: it cannot have one.
  !!
  !! `freed`: an MPI_Comm_delete_attr_function.  MPI calls it with the number of a communicator that
  !! is freed, and with 0 at the beginning of MPI_FINALIZE (section 11.2.4).  Open MPI 4.1 does not
  !! tell it the handle.
  subroutine number_of(comm, own, freed, number)
    integer, intent(in) :: comm
    type(numbering), intent(inout) :: own
    external :: freed
    integer(MPI_ADDRESS_KIND), intent(out) :: number
    integer(MPI_ADDRESS_KIND) :: attribute
    integer :: error
    logical :: found

    number = 0
    if (.not. own%exists) then
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, own%key, 0_MPI_ADDRESS_KIND, error)
      if (error /= MPI_SUCCESS) return
      call MPI_Comm_set_attr(MPI_COMM_SELF, own%key, 0_MPI_ADDRESS_KIND, error)
      if (error /= MPI_SUCCESS) return
      own%exists = .true.
    end if
    call MPI_Comm_get_attr(comm, own%key, attribute, found, error)
    if (error /= MPI_SUCCESS) return
    if (.not. found) then
      attribute = own%last + 1
      call MPI_Comm_set_attr(comm, own%key, attribute, error)
      if (error /= MPI_SUCCESS) return
      own%last = attribute
    end if
    number = attribute
  end subroutine number_of
end module asphalt_persistent
