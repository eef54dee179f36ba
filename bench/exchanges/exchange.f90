!> An exchange.  `run`, which stands in a file of its own for each shape, exchanges `nz` planes of `n`
!> elements for each rank, `steps` times; `first`, `rest`: seconds of the first `early` steps and of all
!> others; `hash`: a fingerprint of what was received.
module exchange
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use fingerprint, only: mix
  use mpi
  use work, only: compute
  implicit none
  private
  public :: run

contains

