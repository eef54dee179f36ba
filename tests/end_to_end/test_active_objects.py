"""Each activation of a procedure has an exchange of its own: recursion, SAVE, two sites."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.output.write import write_tree
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run

PROGRAM = """\
module levels
  use mpi
  implicit none
  integer, parameter :: n = 20, nz = 10
  integer :: me, np
contains
  recursive subroutine descend(level, total)
    integer, intent(in) :: level
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    {save}
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z)*level + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + level*sum(r(:,:,:np))
    if (level < 3) call descend(level + 1, total)
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i + z) + p*level
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np))
  end subroutine descend
end module levels
program main
  use levels
  implicit none
  integer :: ierr, step
  real(8) :: total
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  total = 0
  do step = 1, 3
    call descend(1, total)
  end do
  print '(i0,es24.16)', me, total
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize("save", ["", "save"], ids=["recursion", "save"])
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_each_activation_has_its_own(mpi: Mpi, save: str, tmp_path: Path) -> None:
    given, out = tmp_path / "src", tmp_path / "out"
    given.mkdir()
    main = given / "main.f90"
    main.write_text(PROGRAM.format(save=save))
    settings = Settings(tile=3, depth=2, cache=False)
    written = write_tree([given], Project(given, settings=settings).transform(), out)
    assert (out / "main.f90").read_text().count("call asphalt_x%begin(") == 2
    expected = run(mpi, build(mpi, [main], given, ["-w"]), 3)
    outcome = run(mpi, build(mpi, [*written.runtime, out / "main.f90"], out, ["-O2", "-Wall"]), 3)
    assert outcome.code == expected.code == 0
    assert sorted(outcome.stdout.splitlines()) == sorted(expected.stdout.splitlines())
