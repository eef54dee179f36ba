"""Variables that only replaced calls named are not declared any more: a compiler would warn."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, compile_source, installed, run

_HALO = """\
program main
  use mpi
  implicit none
  integer :: status(MPI_STATUS_SIZE), error{more}
  real(8) :: u(0:100001), v(100000)
  integer :: i, left, right, rank, ranks, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  u = rank
  call MPI_Sendrecv(u(100000), 1, MPI_REAL8, right, 1, u(0), 1, MPI_REAL8, left, 1, &
                    MPI_COMM_WORLD, status, error)
  do i = 1, 100000
    v(i) = sqrt(u(i - 1) + u(i))
  end do
{after}  print *, v(1), v(100000)
  call MPI_Finalize(ierr)
{inside}end program main
"""


def _changed(folder: Path, more: str = "", after: str = "", inside: str = "") -> tuple[str, str]:
    given = _HALO.format(more=more, after=after, inside=inside)
    folder.mkdir()
    (folder / "main.f90").write_text(given)
    settings = Settings(passes=("nonblocking", "motion", "splitting"), cache=False, jobs=1)
    (change,) = Project(folder, settings=settings).outcome().changes
    assert b"asphalt_isend" in change.after
    return given, change.after.decode()


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
def test_they_go(mpi: Mpi, tmp_path: Path) -> None:
    given, after = _changed(tmp_path / "tree", more=", never")
    assert "  integer :: never\n" in after
    assert "status" not in after.lower().replace("mpi_status_ignore", "")
    (tmp_path / "main.f90").write_text(_changed(tmp_path / "other")[1])
    for source in RUNTIME:
        compile_source(mpi, source, tmp_path, ["-w"])
    assert compile_source(mpi, tmp_path / "main.f90", tmp_path, ["-Wall", "-Werror"]).code == 0
    printed = set()
    for name, text in (("before", given), ("after", after)):
        place = tmp_path / name
        place.mkdir()
        (place / "main.f90").write_text(text)
        ran = run(mpi, build(mpi, [*RUNTIME, place / "main.f90"], place, ["-O1", "-w"]), 3)
        assert ran.code == 0, ran.stderr
        printed.add(tuple(sorted(ran.stdout.splitlines())))
    assert len(printed) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"more": "\n  save error"},
        {"more": "\n  common /codes/ error"},
        {"more": "\n  integer :: other(kind(error))"},
        {"after": "  !$ print *, error\n"},
        {"inside": "contains\n  subroutine code()\n    error = 1\n  end subroutine code\n"},
    ],
)
def test_one_that_something_names_stays(more: dict[str, str], tmp_path: Path) -> None:
    _, after = _changed(tmp_path / "tree", **more)
    assert any("::" in line and "error" in line for line in after.splitlines())
