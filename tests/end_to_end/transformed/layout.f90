! Odd layout: several statements on a line, names and labels of loops, comments in the middle.
subroutine semicolons(n, nz, np, me)
  use mpi; use showing, only: show
  implicit none; integer, intent(in) :: n, nz, np, me
  real(8) :: s(n,nz,np), r(n,nz,np); integer :: i, z, p, ierr
  do z = 1, nz; do p = 1, np; do i = 1, n
        s(i,z,p) = i + 10*z + 100*p + 1000*me; end do; end do; end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, & ! to all
                    & MPI_COMM_WORLD, ierr) ! at last
  call show('semicolons', r, n*nz*np)
end subroutine semicolons

SubRoutine Names(n,nz,np,me)
Use MPI
Use Showing, Only : Show
Implicit None
Integer, Intent(In) :: n,nz,np,me
Real(8) :: s(n,nz,np),r(n,nz,np)
Integer :: i,z,p,ierr
	Planes : Do z=1,nz
		Blocks: Do p=1,np
			If (p>np) Cycle Planes
			Do 10 i=1,n   ! a label
				s(i,z,p)=i+10*z & ! in the middle

				! of a statement
				+100*p+1000*me
10			Continue
		End Do Blocks
	End Do Planes
Call &
MPI_Alltoall(s,n*nz,MPI_DOUBLE_PRECISION,r,n*nz,MPI_DOUBLE_PRECISION,MPI_COMM_WORLD,ierr)
Call Show('names',r,n*nz*np)
End

subroutine functions(n, nz, np, me)
  use mpi
  use showing, only: show
  integer, intent(in) :: n, nz, np, me
  real(8) :: s(n,nz,np), r(n,nz,np)
  integer :: i, z, p, ierr
  real(8) :: weight, a
  weight(a) = 2*a + 1
  data ierr /0/
  do z = 1, nz
    do p = 1, np
      do i = 1, n
        if (mod(i, 2) == 0) then
          s(i,z,p) = 0
        else if (z > 3) then
          s(i,z,p) = i + z
        else
          select case (p)
          case (1)
            s(i,z,p) = me
          case default
            s(i,z,p) = -me
          end select
        end if
        s(i,z,p) = s(i,z,p) + 10*z
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  call show('functions', r, n*nz*np)
  call show('functions, twice', [weight(r(1,1,1))], 1)
end subroutine functions
