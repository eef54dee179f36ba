! Receives of asphalt_queues that give a status of the module `mpi_f08` (MPI-4.0 section 3.2.5).
!
! For transformed code
!   asphalt_take_f08   asphalt_take with a status
!
! A file of its own, for not every MPI has the module `mpi_f08`.
module asphalt_queues_f08
  use asphalt_queues, only: asphalt_queue, oldest, taken
  use mpi_f08, only: MPI_ANY_TAG, MPI_Datatype, MPI_Get_count, MPI_PROC_NULL, MPI_Request, &
                     MPI_Status, MPI_SUCCESS, MPI_Wait
  implicit none
  private
  public :: asphalt_take_f08

contains

  !> `asphalt_take` with a status.
  subroutine asphalt_take_f08(queue, buf, status)
    type(asphalt_queue), intent(inout) :: queue
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    type(MPI_Status), intent(inout) :: status
    type(MPI_Request) :: waited
    type(MPI_Datatype) :: datatype
    integer :: arrived, kept, error
    logical :: from_nobody

    call oldest(queue, buf, waited%MPI_VAL, datatype%MPI_VAL)
    kept = status%MPI_ERROR
    call MPI_Wait(waited, status, error)
    status%MPI_ERROR = kept
    arrived = 0
    if (error == MPI_SUCCESS) call MPI_Get_count(status, datatype, arrived, error)
    call taken(queue, buf, arrived, from_nobody)
    if (.not. from_nobody) return
    status%MPI_SOURCE = MPI_PROC_NULL
    status%MPI_TAG = MPI_ANY_TAG
  end subroutine asphalt_take_f08

end module asphalt_queues_f08
