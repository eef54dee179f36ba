! The every-block shape as it is emitted: `use mpi`, the buffers are dummies of a module procedure.
module transposes
  use mpi
  implicit none
  integer :: asphalt_k_transpose, asphalt_d_transpose
contains

  subroutine transpose_blocks(n, nz, np, comm, s, r, zlast)
    use asphalt_exchange, only: asphalt_exchange_t
    integer, intent(in) :: n, nz, np, comm
    real(8), intent(out) :: s(n, nz, np)
    real(8), intent(out) :: r(n, nz, np)
    integer, intent(out) :: zlast
    integer :: i, z, p, ierr, me
    type(asphalt_exchange_t) :: asphalt_x

    call MPI_Comm_rank(comm, me, ierr)
    call asphalt_x%begin(comm, s, r, n*nz, MPI_DOUBLE_PRECISION, bytes=storage_size(s)/8, &
                         unit=n, first=1, last=nz, k=asphalt_k_transpose, d=asphalt_d_transpose, &
                         site='transpose')
    do while (asphalt_x%next_tile(s))
      do z = asphalt_x%lo, asphalt_x%hi
        call asphalt_x%progress()
        do p = 1, np
          do i = 1, n
            s(i,z,p) = sin(dble(i*z)) + p*(me + 1)
          end do
        end do
      end do
    end do
    z = asphalt_x%lo
    if (.not. asphalt_x%finished(s, r, ierr)) &
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
    zlast = z
  end subroutine transpose_blocks
end module transposes

subroutine site(n, nz, k, d, comm, wrong)
  use transposes
  implicit none
  integer, intent(in) :: n, nz, k, d, comm
  integer, intent(out) :: wrong
  real(8), allocatable :: s(:,:,:), r(:,:,:), want(:,:,:)
  integer :: np, ierr, zlast

  call MPI_Comm_size(comm, np, ierr)
  allocate(s(n,nz,np), r(n,nz,np), want(n,nz,np))
  r = -1
  want = -2
  asphalt_k_transpose = k
  asphalt_d_transpose = d
  call transpose_blocks(n, nz, np, comm, s, r, zlast)
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, want, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
  wrong = count(r /= want)
  if (zlast /= nz + 1) wrong = wrong + 1
end subroutine site
