! Collective operations in their non-blocking forms (MPI-4.0 section 6.12).
!
! For transformed code
!   asphalt_ibcast, asphalt_igather, asphalt_ialltoall and so on   start an operation
!   asphalt_wait_both   waits for one with two buffers; one with a single buffer has `asphalt_wait`
!                       of asphalt_transfers
!   asphalt_in_place    stands for MPI_IN_PLACE
!
! The procedures have the arguments of MPI's own, with explicit interfaces.  An operation has to
! have the same form on all ranks: calls of these stand where all ranks come.
module asphalt_collectives
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr
  use asphalt_core, only: asphalt_byte, asphalt_sync, is_smpi, MPI_Get_address
  use mpi, only: MPI_ADDRESS_KIND, MPI_REQUEST_NULL, MPI_STATUS_SIZE
  implicit none
  private
  public :: asphalt_ibcast, asphalt_ireduce, asphalt_iallreduce, asphalt_igather, &
            asphalt_igatherv, asphalt_iscatter, asphalt_iscatterv, asphalt_iallgather, &
            asphalt_iallgatherv, asphalt_ialltoall, asphalt_ialltoallv, asphalt_ialltoallw, &
            asphalt_iscan, asphalt_iexscan, asphalt_ireduce_scatter, &
            asphalt_ireduce_scatter_block, asphalt_wait_both, asphalt_in_place

  !> Stands for MPI_IN_PLACE in calls of the procedures below: that of `mpi_f08` is not that of
  !! `mpi` under MPICH, and under SMPI it is no variable.
  integer, save :: asphalt_in_place = 0

  ! buffers of any type and rank: see asphalt_core
  interface
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
  end interface

contains

  !> The first byte of a buffer, or what MPI has for MPI_IN_PLACE.  `at_once`: the non-blocking form
  !! would send from memory that is free again when it returns, as SMPI does with the copy that it
  !! makes of what is sent in place; all ranks of such an operation have it in place.
  subroutine find_given(buf, byte, at_once)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    integer(asphalt_byte), pointer, intent(out) :: byte
    logical, intent(out), optional :: at_once
    integer(MPI_ADDRESS_KIND) :: address, own
    integer :: ierror

    call MPI_Get_address(buf, address, ierror)
    call MPI_Get_address(asphalt_in_place, own, ierror)
    if (present(at_once)) at_once = .false.
    if (address == own) then
      call find_in_place(MPI_Get_address, address)
      if (present(at_once)) at_once = is_smpi()
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

  !> MPI_Ibcast with an explicit interface.  That of SMPI 3.32 crashes on a communicator of one
  !! rank, where nothing has to be sent: the blocking one, which finds the same errors, is called
  !! there.
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
    if (at_once) at_once = is_smpi()
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: received
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
    integer(asphalt_byte), pointer :: received
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
    integer(asphalt_byte), pointer :: sent
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
end module asphalt_collectives
