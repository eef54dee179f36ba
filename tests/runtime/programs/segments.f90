! The lengths of tiles that asphalt_segment chooses, and prints PASS.
program segments
  use mpi
  use asphalt_segments, only: asphalt_segment
  implicit none
  integer :: me, error
  logical :: right

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  right = asphalt_segment(7, 100, 1.0) == 7             ! wanted
  right = right .and. asphalt_segment(700, 100, 1.0) == 100
  right = right .and. asphalt_segment(7, 0, 1.0) == 1   ! no iterations
  right = right .and. asphalt_segment(0, 40, 1e6) == 10 ! four tiles
  right = right .and. asphalt_segment(0, 1000, 1e6) == 256  ! whole vectors
  right = right .and. asphalt_segment(0, 40, 1e4) == 10
  right = right .and. asphalt_segment(0, 40, 5e3) == 20 ! not too little work
  right = right .and. asphalt_segment(0, 40, 0.0) == 40
  if (me == 0 .and. right) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program segments
