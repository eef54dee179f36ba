"""The units with transfers are optimised callers first, whatever the names of their files."""

from __future__ import annotations

from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.project import Project

_RING = """\
subroutine ring(x, up, down)
  use mpi
  implicit none
  real(8), intent(inout) :: x(2)
  integer, intent(in) :: up, down
  integer :: ierr
  call MPI_Sendrecv(x(1), 1, MPI_DOUBLE_PRECISION, up, 1, x(2), 1, MPI_DOUBLE_PRECISION, down, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine ring
subroutine round(x, up, down)
  implicit none
  real(8), intent(inout) :: x(2)
  integer, intent(in) :: up, down
  call ring(x, up, down)
end subroutine round
"""
_MAIN = """\
program main
  use mpi
  implicit none
  real(8) :: x(2), total
  integer :: me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  x = me
  call round(x, mod(me + 1, np), mod(me + np - 1, np))
  call MPI_Reduce(x(2), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) print *, total
  call MPI_Finalize(ierr)
end program main
"""


def test_a_caller_with_a_transfer_of_its_own_comes_first(tmp_path: Path) -> None:
    for main, ring in (("a.f90", "b.f90"), ("b.f90", "a.f90")):
        folder = tmp_path / main
        folder.mkdir()
        (folder / main).write_text(_MAIN)
        (folder / ring).write_text(_RING)
        seen: list[str] = []
        settings = Settings(passes=("transfers",), cache=False, jobs=1)
        project = Project(folder, settings=settings)
        project.outcome(watch=lambda unit, *_, names=seen: names.append(unit.split()[-1]))
        assert seen == ["main", "round", "ring"]
