!> SMPI lacks MPI_F_SYNC_REG; an external procedure that does nothing is all that is needed.
subroutine mpi_f_sync_reg(buf)
  implicit none
  type(*) :: buf(*)
end subroutine mpi_f_sync_reg
