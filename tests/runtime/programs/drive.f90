! Calls an exchange with many sizes, K and D on all ranks and prints PASS, or what went wrong.
! `site(n, nz, k, d, comm, wrong)`: n elements an iteration, nz iterations; `wrong` counts elements
! that differ from what the collective gives.  With the argument `few`, fewer sizes.
program main
  use mpi
  implicit none
  external :: site
  integer, parameter :: sizes(6) = [0, 1, 2, 5, 8, 13], tiles(6) = [0, 1, 2, 3, 5, 20]
  integer :: rank, ierr, wrong, all_wrong, n, iz, ik, d, comm
  character(3) :: argument

  call get_command_argument(1, argument)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  all_wrong = 0
  do iz = 1, size(sizes)
    do ik = 1, size(tiles)
      if (argument == 'few' .and. (mod(iz, 2) == 1 .or. ik < 3)) cycle
      do d = 1, merge(2, 4, argument == 'few')
        do n = 0, 3, 3
          call site(n, sizes(iz), tiles(ik), d, comm, wrong)
          if (wrong /= 0) print '(a,5i8)', 'FAIL n nz k d wrong', n, sizes(iz), tiles(ik), d, wrong
          all_wrong = all_wrong + wrong
        end do
      end do
    end do
  end do
  call site(10000, 20, 0, 2, comm, wrong)
  if (wrong /= 0) print '(a,i8)', 'FAIL with K chosen on entry', wrong
  all_wrong = all_wrong + wrong
  call MPI_Comm_free(comm, ierr)
  call MPI_Allreduce(all_wrong, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. wrong == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierr)
end program main
