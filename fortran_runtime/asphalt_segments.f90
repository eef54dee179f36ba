! The length of a tile of a nest whose messages are cut with it.
!
! For transformed code
!   asphalt_segment   the number of iterations of a tile, the same on all ranks that ask the same
!
! It does not communicate.
module asphalt_segments
  implicit none
  private
  public :: asphalt_segment

  !> Parts of a message between two ranks, and operations for which it pays to send one more.
  integer, parameter :: usual_segments = 4
  real, parameter :: least_segment_work = 100000.0
  integer, parameter :: whole_vectors = 16

contains

  !> How many of `iterations` a tile has, each of which takes about `work` operations: `wanted`, or,
  !! where this is 0, as many as leave a few tiles that are each worth a message; of many, a
  !! multiple of 16, so that tiles begin where the vectors of the whole loop do.
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
end module asphalt_segments
