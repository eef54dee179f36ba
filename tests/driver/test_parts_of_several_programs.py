"""Text that the programs of a tree include, where it is not analysed."""

from __future__ import annotations

from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.report.project_reports import reports_before

_MAIN = """\
module grid
  integer :: n
end module grid
program {name}
  use mpi
  implicit none
  integer :: u(4), ierr
  call MPI_Init(ierr)
  call step
  call step
  call MPI_Finalize(ierr)
contains
  include 'step.f90'
end program {name}
"""
_PART = """\
subroutine step
  call MPI_Bcast(u, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
end subroutine step
"""


def test_each_program_tells_of_its_own_parts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.f90").write_text(_MAIN.format(name=name))
        (folder / "step.f90").write_text(_PART)
    (tmp_path / "two" / "again.c").write_text('#include "step.f90"\n')
    project = Project(tmp_path, settings=Settings(cache=False, jobs=1))
    assert len(project.each) == 2
    sites = [
        (str(Path(site.file).relative_to(tmp_path)), site.message)
        for site in reports_before(project)
        if site.operation == "MPI_Bcast"
    ]
    assert [path for path, _ in sites] == ["one/step.f90", "two/step.f90"]
    assert "also includes it" in sites[1][1]
    assert "also includes it" not in sites[0][1]
