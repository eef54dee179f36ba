! The slab shape with rotation as it is emitted: `use mpi`, whole planes are dealt to the ranks.
! Block p of the planes of `s` (nb = nz/np planes each) goes to rank p - 1.
subroutine exchange_slabs(n, nz, np, k, d, comm, s, r, zlast)
  use mpi
  use asphalt_exchange, only: asphalt_exchange_t
  implicit none
  integer, intent(in) :: n, nz, np, k, d, comm
  real(8), intent(out) :: s(n, nz), r(n, nz)
  integer, intent(out) :: zlast
  integer :: i, z, ierr, me
  type(asphalt_exchange_t) :: asphalt_x

  call MPI_Comm_rank(comm, me, ierr)
  call asphalt_x%begin(comm, s, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
                       bytes=storage_size(s)/8, unit=n, first=1, last=nz, k=k, d=d, slab=.true., &
                       site='planes')
  do while (asphalt_x%next_tile(s))
    do z = asphalt_x%lo, asphalt_x%hi
      call asphalt_x%progress()
      do i = 1, n
        s(i,z) = sin(dble(i*z)) + 10*me
      end do
    end do
  end do
  z = asphalt_x%lo
  if (.not. asphalt_x%finished(s, r, ierr)) &
    call MPI_Alltoall(s, n*(nz/np), MPI_DOUBLE_PRECISION, r, n*(nz/np), MPI_DOUBLE_PRECISION, &
                      comm, ierr)
  zlast = z
end subroutine exchange_slabs

subroutine site(n, nz, k, d, comm, wrong)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, k, d, comm
  integer, intent(out) :: wrong
  external :: exchange_slabs
  real(8), allocatable :: s(:,:), r(:,:), want(:,:)
  integer :: np, ierr, planes, zlast

  call MPI_Comm_size(comm, np, ierr)
  planes = nz*np
  if (k == 5) planes = nz  ! blocks that are not of whole planes: not tiled
  allocate(s(n,planes), r(n,planes), want(n,planes), source=0.0d0)
  call exchange_slabs(n, planes, np, k, d, comm, s, r, zlast)
  want = r
  if (mod(planes, np) == 0) &
    call MPI_Alltoall(s, n*(planes/np), MPI_DOUBLE_PRECISION, want, n*(planes/np), &
                      MPI_DOUBLE_PRECISION, comm, ierr)
  wrong = count(r /= want)
  if (zlast /= planes + 1) wrong = wrong + 1
end subroutine site
