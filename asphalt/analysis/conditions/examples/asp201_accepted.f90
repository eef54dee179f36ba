program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: i, z, p, me, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np))
  if (np > 2) then
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  else
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*np
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end if
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
