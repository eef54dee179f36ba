module transposes
  use mpi
  implicit none
contains
  ! Fills one block for each rank, plane by plane, and exchanges them.
  subroutine transpose(n, nz, np, me, comm, s, r)
    integer, intent(in) :: n, nz, np, me, comm
    double precision, intent(inout) :: s(n, nz, np), r(n, nz, np)
    integer :: i, z, p, ierr

    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i, z, p) = sin(dble(i*z)) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  end subroutine transpose
end module transposes
