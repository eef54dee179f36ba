!> Planes of irregular work; each plane is dealt to all ranks, and all planes are exchanged at
!> the end of a time step.
program synthetic_fig3
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use results, only: mix_reals, report
  use seeds, only: seed_plane
  implicit none
  include 'sizes.inc'
  real(real64), parameter :: pi = 4*atan(1.0_real64)
  real(real64), allocatable :: s(:,:,:), r(:,:,:), aux(:)
  real(real64) :: near, far, both, began, elapsed
  integer(int64) :: hash, received
  integer :: np, me, ierr, step, z, p, i, j, k, l, start, round

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(s(n, nz, np), r(n, nz, np), aux(na))
  hash = 1
  received = 0
  elapsed = 0

  do step = 1, steps
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()

    do z = 1, nz
      call seed_plane(na, z, step, me, aux)
      ! the part of aux that is still mixed is halved each time; what is read depends on it
      start = 1
      do i = 1, na
        start = (start + na)/2
        do round = 1, rounds
          do j = start, na
            k = start + mod(j + 1, na - start + 1)
            l = start + mod(j + na/2, na - start + 1)
            near = cos((aux(k) + aux(start))/2)
            far = cos((aux(l) + aux(start) - aux(1))/3)
            both = cos((near + far)*pi)
            aux(j) = (aux(i) + aux(j) + (near - far)/(both + 2))/2
          end do
        end do
      end do
      do p = 1, np
        do i = 1, n
          s(i, z, p) = aux(1 + mod(i*p, na)) + p
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)

    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_reals(size(r), r, hash)
    received = received + size(r)
  end do

  call report('synthetic_fig3', MPI_COMM_WORLD, hash, received, elapsed)
  deallocate(s, r, aux)
  call MPI_Finalize(ierr)
end program synthetic_fig3
