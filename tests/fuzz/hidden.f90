! What asphalt is not given: procedures that no proof can look into.
subroutine fz_hidden(x)
  use mpi
  implicit none
  real(8), intent(inout) :: x
  integer :: ierr
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  x = x + 1
end subroutine fz_hidden
