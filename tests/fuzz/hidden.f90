! What asphalt is not given: procedures that no proof can look into.
subroutine fz_hidden(x)
  use mpi
  implicit none
  real(8), intent(inout) :: x
  integer :: ierr
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  x = x + 1
end subroutine fz_hidden

! Another value on odd ranks than on even ones.
subroutine fz_choice(i)
  use mpi
  implicit none
  integer, intent(out) :: i
  integer :: me, ierr
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  i = mod(me, 2)
end subroutine fz_choice

! Changes what a common block holds.
subroutine fz_more()
  implicit none
  real(8) :: held(9)
  common /fz_held/ held
  held = 2*held + 1
end subroutine fz_more
