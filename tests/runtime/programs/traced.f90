! What the runtime starts, in its order: the profiling interface (MPI-4.0 section 14.2) stands
! between it and the library.
subroutine MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierror)
  implicit none
  integer :: buf(*), count, datatype, dest, tag, comm, request, ierror, me, error
  external :: PMPI_Isend, PMPI_Comm_rank

  call PMPI_Comm_rank(comm, me, error)
  print '(a, 3i8)', 'send', me, dest, count
  call PMPI_Isend(buf, count, datatype, dest, tag, comm, request, ierror)
end subroutine MPI_Isend

subroutine MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
  implicit none
  integer :: buf(*), count, datatype, source, tag, comm, request, ierror, me, error
  external :: PMPI_Irecv, PMPI_Comm_rank

  call PMPI_Comm_rank(comm, me, error)
  print '(a, 3i8)', 'post', me, source, count
  call PMPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
end subroutine MPI_Irecv
