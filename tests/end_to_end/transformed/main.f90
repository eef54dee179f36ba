program main
  use mpi
  use blocks
  use clones, only: clone_exchanges
  use modern, only: modern_exchanges
  use slabs
  use flat
  use uneven
  use windows, only: window_exchanges
  use storage, only: storage_cases
  implicit none
  external :: upper, labels, late, landed, shared, old, semicolons, names, functions
  external :: through_calls, module_planes, called_slabs, by_common
  external :: ragged
  external :: strided_cases, planes_inside, direct_cases, turned_rows
  integer :: np, me, half, half_np, half_me, ierr
  real(8), allocatable :: s(:), r(:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)

  allocate(s(1000*np), r(1000*np))
  r = 0
  call dummies('dummies', 3, 10, np, me, MPI_COMM_WORLD, s, r)
  call dummies('one plane', 5, 1, np, me, MPI_COMM_WORLD, s, r)
  call dummies('no planes', 5, 0, np, me, MPI_COMM_WORLD, s, r)
  call dummies('no columns', 0, 5, np, me, MPI_COMM_WORLD, s, r)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), 0, half, ierr)
  call MPI_Comm_size(half, half_np, ierr)
  call MPI_Comm_rank(half, half_me, ierr)
  call dummies('half of the ranks', 2, 9, half_np, half_me, half, s, r)
  call automatic(4, 9, np, me)
  call time_steps(np, me)
  columns = 2
  planes = 13
  allocate(sent(columns, planes, np), received(columns, planes, np))
  call module_buffers(np, me)
  call lower_bounds(3, 8, np, me)
  call backwards(3, 10, np, me)
  call shifted(3, 7, np, me)
  call packed(3, 9, np, me)
  call with_procedure(4, 8, np, me)
  call irregular(3, 8, np, me)
  call inner_loop(2, 7, np, me)
  call there_and_back(2, 6, np, me)
  call slab_planes(3, 5, np, me)
  call slab_planes(3, 0, np, me)
  call cubes(2, 3, 4*np, np, me)
  call cubes(2, 3, 4*np + 1, np, me)
  call packed_slabs(3, 4, np, me)
  call dealt(2, 9, np, me)
  call dealt(1, 4, np, me)
  call dealt(3, 0, np, me)
  call own_planes(3, .false., np, me)
  call own_planes(3, .true., np, me)
  call columns_of_ranks(3, 4, np, me)
  call columns_of_ranks(2, 1, np, me)
  call time_dependent(3, 4, np, me)
  call flat_runs(7, 2, 5, .false., np, me)
  call flat_runs(3, 2, 4, .false., np, me)
  call flat_runs(6, 3, 0, .false., np, me)
  call flat_runs(7, 2, 5, .true., np, me)
  call running_position(7, 2, 5, .false., np, me)
  call running_position(3, 1, 4, .false., np, me)
  call running_position(7, 2, 5, .true., np, me)
  call flat_planes(3, 7, np, me)
  call flat_planes(1, 4, np, me)
  call flat_planes(0, 4, np, me)
  call flat_columns(3, 5, np, me)
  call flat_rows(3, 4, np, me)
  call flat_inner(3, 8, np, me)
  call flat_positions(3, 8, np, me)
  call flat_position(3, 8, np, me)
  call flat_position_of_ranks(3, 8, np, me)
  call clone_exchanges(np, me)
  call window_exchanges(np, me)
  call modern_exchanges(np, me)
  call upper(3, 7, np, me)
  call labels(np, me)
  call landed(np, me)
  call late(np, me)
  call shared(np, me)
  call ragged(np, me)
  call old(np, me)
  call strided_cases(np, me)
  call direct_cases(np, me)
  call planes_inside(np, me)
  call turned_rows(np, me)
  call semicolons(3, 7, np, me)
  call names(3, 8, np, me)
  call functions(4, 5, np, me)
  call through_calls(3, 7, np, me)
  call module_planes(3, 7, np)
  call called_slabs(2, 3, 4, np, me)
  call by_common(6, np)
  call storage_cases(np, me)
  call MPI_Finalize(ierr)
end program main
