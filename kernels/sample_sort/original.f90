!> Sorts keys over all ranks: samples give splitters, splitters give buckets, and how many keys a
!> rank sends to another is known only when they have been counted.
program sample_sort
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use results, only: mix_reals, report
  use sorting, only: bucket_of, draw_keys, sort
  implicit none
  include 'sizes.inc'
  real(real64), allocatable :: keys(:), outgoing(:), incoming(:), sample(:), splitters(:)
  integer, allocatable :: counts(:), arriving(:), offsets(:), places(:), position(:)
  real(real64) :: began, elapsed
  integer(int64) :: hash, received
  integer :: np, me, ierr, step, i, p, total

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(keys(n), outgoing(n), sample(samples*np), splitters(np - 1))
  allocate(counts(np), arriving(np), offsets(np), places(np), position(np))
  hash = 1
  received = 0
  elapsed = 0

  do step = 1, steps
    call draw_keys(n, step, me, keys)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()

    call MPI_Allgather(keys, samples, MPI_DOUBLE_PRECISION, sample, samples, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call sort(samples*np, sample)
    do p = 1, np - 1
      splitters(p) = sample(p*samples + 1)
    end do

    counts = 0
    do i = 1, n
      p = bucket_of(keys(i), splitters)
      counts(p) = counts(p) + 1
    end do
    call MPI_Alltoall(counts, 1, MPI_INTEGER, arriving, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    offsets(1) = 0
    places(1) = 0
    do p = 2, np
      offsets(p) = offsets(p - 1) + counts(p - 1)
      places(p) = places(p - 1) + arriving(p - 1)
    end do
    total = places(np) + arriving(np)
    allocate(incoming(total))

    position = offsets
    do i = 1, n
      p = bucket_of(keys(i), splitters)
      position(p) = position(p) + 1
      outgoing(position(p)) = keys(i)
    end do
    call MPI_Alltoallv(outgoing, counts, offsets, MPI_DOUBLE_PRECISION, &
                       incoming, arriving, places, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call sort(total, incoming)

    elapsed = elapsed + (MPI_Wtime() - began)
    call mix_reals(total, incoming, hash)
    received = received + total
    deallocate(incoming)
  end do

  call report('sample_sort', MPI_COMM_WORLD, hash, received, elapsed)
  call MPI_Finalize(ierr)
end program sample_sort
