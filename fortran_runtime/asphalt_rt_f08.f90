
!> Waits that give a status as the module `mpi_f08` has it.
!!
!! `apply` puts this module into `asphalt_rt.f90` where a transformed file uses it: a build without
!! such a file needs no module `mpi_f08`.  MPI waits itself, so that nothing is converted: Open MPI
!! 4.1 declares MPI_Status_f2f08 and has none.
module asphalt_rt_f08
  use mpi_f08, only: MPI_ANY_TAG, MPI_Datatype, MPI_Get_count, MPI_PROC_NULL, MPI_Request, &
                     MPI_REQUEST_NULL, MPI_Status, MPI_SUCCESS, MPI_Wait
  use asphalt_rt, only: asphalt_oldest, asphalt_queue, asphalt_taken, asphalt_waited
  implicit none
  private
  public :: asphalt_wait_f08, asphalt_take_f08

contains

  !> `asphalt_wait` with a status.
  subroutine asphalt_wait_f08(request, buf, status)
    integer, intent(inout) :: request
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    type(MPI_Status), intent(inout) :: status
    type(MPI_Request) :: waited
    integer :: started, error
    logical :: from_nobody

    started = request
    waited%MPI_VAL = request
    call MPI_Wait(waited, status, error)
    request = waited%MPI_VAL
    call asphalt_waited(started, buf, from_nobody)
    if (.not. from_nobody) return
    waited = MPI_REQUEST_NULL
    call MPI_Wait(waited, status, error)  ! an empty status
    status%MPI_SOURCE = MPI_PROC_NULL
  end subroutine asphalt_wait_f08

  !> `asphalt_take` with a status.
  subroutine asphalt_take_f08(queue, buf, status)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    type(MPI_Status), intent(inout) :: status
    type(MPI_Request) :: waited
    type(MPI_Datatype) :: datatype
    integer :: arrived, error
    logical :: from_nobody

    call asphalt_oldest(queue, buf, waited%MPI_VAL, datatype%MPI_VAL)
    call MPI_Wait(waited, status, error)
    arrived = 0
    if (error == MPI_SUCCESS) call MPI_Get_count(status, datatype, arrived, error)
    call asphalt_taken(queue, buf, arrived, from_nobody)
    if (.not. from_nobody) return
    status%MPI_SOURCE = MPI_PROC_NULL
    status%MPI_TAG = MPI_ANY_TAG
  end subroutine asphalt_take_f08

end module asphalt_rt_f08
