program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 8
  integer :: z, step, me, np, request, ierr
  real(8) :: b(n)
  real(8), allocatable :: s(:,:,:), r(:,:,:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  b = me
  do step = 1, 3
    call MPI_Isend(b, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), step, MPI_COMM_WORLD, &
                   request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)   ! before the request is used again
  end do
  allocate(s(n,nz,np), r(n,nz,np))
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)   ! this one is transformed
  print *, sum(r), sum(b)
  call MPI_Finalize(ierr)
end program exchange
