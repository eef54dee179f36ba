!> A grid of charges, dealt to the ranks in slabs of different thickness: first by x, then by z.
module charge_grid
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use results, only: mix_reals, report
  use smoothing, only: smooth_plane
  implicit none
  private
  public :: run

contains

  !> How `n` planes are dealt: `thickness` of the slab of each rank, and the planes `before` it.
  !> All slabs are equally thick, but for the last ones, which may be thinner or empty.
  subroutine deal(n, np, thickness, before)
    integer, intent(in) :: n, np
    integer, intent(out) :: thickness(0:np-1), before(0:np-1)
    integer :: p, most

    most = (n + np - 1)/np
    do p = 0, np - 1
      before(p) = min(n, p*most)
      thickness(p) = min(n, (p + 1)*most) - before(p)
    end do
  end subroutine deal

  !> Smooths the grid of nx by ny by nz points along y `steps` times, on slabs of x, and gathers it
  !> in slabs of z.
  subroutine run(nx, ny, nz, steps, comm)
    integer, intent(in) :: nx, ny, nz, steps, comm
    real(real64), allocatable :: s(:,:,:), r(:,:,:)
    integer, allocatable :: by_x(:), first_x(:), by_z(:), first_z(:)
    integer, allocatable :: send_count(:), send_offset(:), recv_count(:), recv_offset(:)
    real(real64) :: began, elapsed
    integer(int64) :: hash, received
    integer :: np, me, lx, lz, step, i, j, k, ierr

    call MPI_Comm_size(comm, np, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    allocate(by_x(0:np-1), first_x(0:np-1), by_z(0:np-1), first_z(0:np-1))
    call deal(nx, np, by_x, first_x)
    call deal(nz, np, by_z, first_z)
    lx = by_x(me)
    lz = by_z(me)
    allocate(send_count(0:np-1), send_offset(0:np-1), recv_count(0:np-1), recv_offset(0:np-1))
    send_count = lx*ny*by_z
    send_offset = lx*ny*first_z
    recv_count = by_x*ny*lz
    recv_offset = first_x*ny*lz
    allocate(s(lx, ny, nz), r(nx, ny, lz))
    hash = 1
    received = 0
    elapsed = 0

    do step = 1, steps
      call MPI_Barrier(comm, ierr)
      began = MPI_Wtime()

      do k = 1, nz
        do j = 1, ny
          do i = 1, lx
            s(i, j, k) = mod(7*(first_x(me) + i) + 5*j + 3*k + step, 11)/11.0_real64
          end do
        end do
        call smooth_plane(lx, ny, s(:, :, k))
      end do
      call MPI_Alltoallv(s, send_count, send_offset, MPI_DOUBLE_PRECISION, &
                         r, recv_count, recv_offset, MPI_DOUBLE_PRECISION, comm, ierr)

      elapsed = elapsed + (MPI_Wtime() - began)
      call mix_reals(size(r), r, hash)
      received = received + size(r)
    end do

    call report('uneven_slabs', comm, hash, received, elapsed)
    deallocate(s, r, send_count, send_offset, recv_count, recv_offset)
  end subroutine run

end module charge_grid


program uneven_slabs
  use mpi
  use charge_grid, only: run
  implicit none
  include 'sizes.inc'
  integer :: ierr

  call MPI_Init(ierr)
  call run(nx, ny, nz, steps, MPI_COMM_WORLD)
  call MPI_Finalize(ierr)
end program uneven_slabs
