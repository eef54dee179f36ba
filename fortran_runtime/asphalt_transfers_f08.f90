! Waits of asphalt_transfers that give a status of the module `mpi_f08` (MPI-4.0 section 3.7.3).
!
! For transformed code
!   asphalt_wait_f08   asphalt_wait with a status
!
! A file of its own, for not every MPI has the module `mpi_f08`.  MPI waits itself, so that nothing
! is converted: Open MPI 4.1 declares MPI_Status_f2f08 and has none.
module asphalt_transfers_f08
  use asphalt_transfers, only: waited
  use mpi_f08, only: MPI_PROC_NULL, MPI_Request, MPI_REQUEST_NULL, MPI_Status, MPI_Wait
  implicit none
  private
  public :: asphalt_wait_f08

contains

  !> `asphalt_wait` with a status.
  subroutine asphalt_wait_f08(request, buf, status)
    integer, intent(inout) :: request
    !GCC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer, dimension(*), asynchronous :: buf
    type(MPI_Status), intent(inout) :: status
    type(MPI_Request) :: pending
    integer :: started, kept, error
    logical :: from_nobody, kept_request

    started = request
    pending%MPI_VAL = request
    kept = status%MPI_ERROR
    call MPI_Wait(pending, status, error)
    request = pending%MPI_VAL
    call waited(started, buf, from_nobody, kept_request)
    if (kept_request) request = MPI_REQUEST_NULL%MPI_VAL
    if (from_nobody) then
      pending = MPI_REQUEST_NULL
      call MPI_Wait(pending, status, error)  ! an empty status
      status%MPI_SOURCE = MPI_PROC_NULL
    end if
    status%MPI_ERROR = kept
  end subroutine asphalt_wait_f08

end module asphalt_transfers_f08
