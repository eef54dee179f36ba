! The every-block shape as it is emitted: `use mpi_f08`, local allocatable and module buffers.
module transposes
  use mpi_f08
  implicit none
  integer :: asphalt_k_transpose, asphalt_d_transpose
  real(8), allocatable :: s(:,:,:)
contains

  subroutine transpose_blocks(n, nz, np, comm, want, wrong)
    use asphalt_exchange, only: asphalt_exchange_t
    integer, intent(in) :: n, nz, np
    type(MPI_Comm), intent(in) :: comm
    real(8), intent(out) :: want(n, nz, np)
    integer, intent(out) :: wrong
    real(8) :: r(n, nz, np)
    integer :: i, z, p, me
    type(asphalt_exchange_t) :: asphalt_x

    call MPI_Comm_rank(comm, me)
    call asphalt_x%begin(comm%MPI_VAL, s, r, n*nz, MPI_DOUBLE_PRECISION%MPI_VAL, &
                         bytes=storage_size(s)/8, unit=n, first=1, last=nz, k=asphalt_k_transpose, &
                         d=asphalt_d_transpose, site='transpose')
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
    if (.not. asphalt_x%finished(s, r)) &
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm)
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, want, n*nz, MPI_DOUBLE_PRECISION, comm)
    wrong = count(r /= want)
  end subroutine transpose_blocks
end module transposes

subroutine site(n, nz, k, d, comm, wrong)
  use transposes
  implicit none
  integer, intent(in) :: n, nz, k, d, comm
  integer, intent(out) :: wrong
  real(8), allocatable :: want(:,:,:)
  integer :: np

  call MPI_Comm_size(MPI_Comm(comm), np)
  allocate(s(n,nz,np), want(n,nz,np))
  asphalt_k_transpose = k
  asphalt_d_transpose = d
  call transpose_blocks(n, nz, np, MPI_Comm(comm), want, wrong)
  deallocate(s)
end subroutine site
