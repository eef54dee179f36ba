      program exchange
      implicit none
      include 'mpif.h'
      integer n, nz
      parameter (n = 3, nz = 8)
      integer z, np, ierr
      real*8 s(n,nz,4), r(n,nz,4)
      call MPI_INIT(ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, np, ierr)
      do 10 z = 1, nz, 2
   10 s(:,z,:) = z
      call MPI_ALLTOALL(s, n*nz, MPI_DOUBLE_PRECISION,
     &  r, n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
      print *, r(1,1,1)
      call MPI_FINALIZE(ierr)
      end
