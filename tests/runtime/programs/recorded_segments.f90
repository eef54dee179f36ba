! Messages in segments whose calls of MPI are recorded (recorder.f90): those of a pipeline, and those
! between two nests.  Each rank reads its list of them from list.RANK and writes record.RANK.
!
!   N    another one
!   B    addresses of what it receives and sends
!   C    the iterations of a tile, from 0; those that use what is received follow all others
program recorded_segments
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use mpi
  use asphalt_segments, only: asphalt_await_segment, asphalt_begin_segments, &
                              asphalt_finish_segments, asphalt_next_segment, &
                              asphalt_receive_segments, asphalt_segments_t, asphalt_send_segment
  use recorder, only: address, record, recording
  implicit none
  integer, parameter :: first = 3
  integer, parameter :: ahead = 0, between = 1, behind = 2
  type(asphalt_segments_t) :: x
  double precision, allocatable, target :: west(:,:), east(:,:)
  character(40) :: name
  integer :: me, list, file, error, i, execution
  integer :: numbers, source, dest, trips, elements, k, d, executions, posted
  logical :: pipeline

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  write(name, '(a,i0)') 'list.', me
  open(newunit=list, file=name, status='old')
  write(name, '(a,i0)') 'record.', me
  open(newunit=file, file=name, status='replace')
  do
    read(list, *, iostat=error) numbers, pipeline, source, dest, trips, elements, k, d, &
                                executions, posted
    if (error /= 0) exit
    allocate(west(elements,trips*executions), east(elements,trips*executions))
    east = reshape([(1000*me + i, i=0,size(east)-1)], shape(east))
    west = -1
    write(file, '(a)') 'N'
    recording = file
    call record('B', [address(c_loc(west)), address(c_loc(east))])
    do execution = 0, executions - 1
      if (d > 0) then
        call asphalt_begin_segments(x, first=first, last=first+trips-1, work=1.0, k=k, d=d)
      else
        call asphalt_begin_segments(x, first=first, last=first+trips-1, work=1.0, k=k)
      end if
      if (pipeline .or. posted == ahead) call post()
      do while (asphalt_next_segment(x))
        if (pipeline) call await()
        call compute(0)
        if (dest >= 0) then
          call asphalt_send_segment(x, east(1,execution*trips+1), elements, MPI_DOUBLE_PRECISION, &
                                    dest, 7, MPI_COMM_WORLD)
        end if
      end do
      if (pipeline .or. posted == behind) call finish()
      if (pipeline) cycle
      if (posted /= ahead) call post()
      if (source >= 0) then
        do while (asphalt_next_segment(x))
          call await()
          call compute(executions*trips)
        end do
      end if
      if (posted /= behind) call finish()
    end do
    recording = 0
    if (source >= 0) then
      if (any(nint(west) /= reshape([(1000*source + i, i=0,size(west)-1)], shape(west)))) stop 1
    else if (any(nint(west) /= -1)) then
      stop 2
    end if
    deallocate(west, east)
  end do
  close(file)
  call MPI_Finalize(error)

contains

  subroutine post()
    if (source < 0) return
    call asphalt_receive_segments(x, west(1,execution*trips+1), elements, MPI_DOUBLE_PRECISION, &
                                  source, 7, MPI_COMM_WORLD)
  end subroutine post

  subroutine await()
    if (source >= 0) call asphalt_await_segment(x, west)
  end subroutine await

  subroutine finish()
    if (dest >= 0) call asphalt_finish_segments(x, east)
  end subroutine finish

  subroutine compute(begin)
    integer, intent(in) :: begin
    call record('C', int(begin + execution*trips + [x%lo, x%hi] - first, c_intptr_t))
  end subroutine compute
end program recorded_segments

subroutine MPI_Wait(request, status, ierror)
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use recorder, only: address, record
  implicit none
  integer, target :: request
  integer :: status(*), ierror
  external :: PMPI_Wait

  call record('W', [address(c_loc(request)), 1_c_intptr_t])
  call PMPI_Wait(request, status, ierror)
end subroutine MPI_Wait
