!> Planes that are computed one by one and belong, a block of them each, to the ranks.
module driven_planes
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi, only: MPI_DOUBLE_PRECISION, MPI_WTIME
  use drives, only: plane_drive
  use results, only: mix_reals, report
  implicit none
  private
  public :: run

contains

  !> Computes nz planes of nx times ny points `steps` times, and sends plane k to the rank that
  !> owns it: rank (k-1)/(nz/np).  nz is a multiple of the number of ranks.
  subroutine run(nx, ny, nz, modes, steps, comm)
    integer, intent(in) :: nx, ny, nz, modes, steps, comm
    real(real64), allocatable :: s(:,:,:), r(:,:,:), across(:,:), along(:,:)
    real(real64) :: amplitude, total, began, elapsed
    integer(int64) :: hash, received
    integer :: np, me, block, step, i, j, k, m, ierr

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(s(nx, ny, nz), r(nx, ny, nz), across(modes, nx), along(modes, ny))
    do i = 1, nx
      across(:, i) = [(cos(0.3_real64*m*i), m = 1, modes)]
    end do
    do j = 1, ny
      along(:, j) = [(sin(0.7_real64*m*j), m = 1, modes)]
    end do
    block = nx*ny*(nz/np)
    hash = 1
    received = 0
    elapsed = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()

      do k = 1, nz
        call plane_drive(k, step, me, amplitude)
        do j = 1, ny
          do i = 1, nx
            total = 0
            do m = 1, modes
              total = total + across(m, i)*along(m, j)
            end do
            s(i, j, k) = amplitude*total
          end do
        end do
      end do
      call MPI_Alltoall(s, block, MPI_DOUBLE_PRECISION, r, block, MPI_DOUBLE_PRECISION, comm, ierr)

      elapsed = elapsed + (MPI_Wtime() - began)
      call mix_reals(np*block, r, hash)
      received = received + np*block
    end do

    call report('plane_slab', comm, hash, received, elapsed)
    deallocate(s, r, across, along)
  end subroutine run

end module driven_planes


program plane_slab
  use mpi
  use driven_planes, only: run
  implicit none
  include 'sizes.inc'
  integer :: ierr

  call MPI_Init(ierr)
  call run(nx, ny, nz, modes, steps, MPI_COMM_WORLD)
  call MPI_Finalize(ierr)
end program plane_slab
