! Messages between two ranks, and what every other module of asphalt's runtime stands on.
!
! For transformed code
!   asphalt_isend, asphalt_irecv   start a message (MPI-4.0 section 3.7.2)
!   asphalt_sync                   a fence for the compiler (section 19.1.8)
!
! The procedures have the arguments of MPI's own, with explicit interfaces: under mpif.h and in some
! MPI modules those of MPI have none, and a compiler then compares all calls of a file, and refuses
! buffers of different types.  An `ierror` keeps an error that it already holds, so that the first
! one is reported.
!
! No buffer of a program gets the attribute ASYNCHRONOUS, with which compilers stop vectorising what
! computes on it.  `asphalt_sync(buf)` behind the last wait gives the same protection: the compiler
! neither moves an access to `buf` across the call nor keeps `buf` in registers.
!
! For the other modules of the runtime
!   asphalt_byte   the kind of integers in which memory is counted
!   is_dense       whether elements of a data type lie without gaps (section 5.1)
!   is_smpi        whether this is SimGrid's SMPI, which needs another way here and there
!   keep_first     reports the first error alone
!   MPI_Isend, MPI_Irecv, MPI_Get_address, memcpy   their interfaces
!
! Fortran 2003, MPI 3.0 and its module `mpi`.  Callers that use `mpi_f08` pass the component MPI_VAL
! of their handles.
module asphalt_core
  use, intrinsic :: iso_c_binding, only: c_ptr, c_signed_char, c_size_t
  use mpi, only: MPI_ADDRESS_KIND, MPI_PROC_NULL, MPI_REQUEST_NULL, MPI_SUCCESS
  implicit none
  private
  public :: asphalt_isend, asphalt_irecv, asphalt_sync
  ! for the other modules of the runtime
  public :: asphalt_byte, int64, is_dense, is_smpi, keep_first, MPI_Isend, MPI_Irecv, MPI_Get_address, &
            memcpy

  !> Integers for numbers of bytes, which overflow default integers.
  integer, parameter :: int64 = selected_int_kind(18)

  !> The kind of integers in which memory is counted where the type does not matter.
  integer, parameter :: asphalt_byte = c_signed_char

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

    subroutine MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
      implicit none
      !GCC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer, dimension(*), asynchronous :: buf
      integer, intent(in) :: count, datatype, source, tag, comm
      integer, intent(out) :: request, ierror
    end subroutine MPI_Irecv

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

  !> Reports the first error alone.
  subroutine keep_first(error, ierror)
    integer, intent(in) :: error
    integer, intent(inout), optional :: ierror

    if (.not. present(ierror)) return
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine keep_first

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

  !> Whether this is SimGrid's SMPI.  Version 3.32 calls the callbacks of attributes as C functions,
  !! with C's arguments, so that private communicators are not freed there; and it has wrong extents
  !! for some types.
  logical function is_smpi()
    character(:), allocatable :: version
    integer :: length, ierror

    allocate(character(4096) :: version)  ! what the largest MPI needs
    call MPI_Get_library_version(version, length, ierror)
    is_smpi = version(:4) == 'SMPI'
  end function is_smpi
end module asphalt_core
