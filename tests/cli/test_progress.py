"""The progress of long work."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.cli.progress import Progress, reading
from asphalt.config.settings import Settings
from asphalt.project import Project

SHIFT = """\
subroutine {name}(u, n, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: u(0:n)
  integer :: ierr
  call MPI_Send(u(n), 1, MPI_REAL8, 1, 1, comm, ierr)
end subroutine {name}
"""


def test_the_piece_of_work_and_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    with Progress("optimising", 0, lambda: now) as progress:
        progress.at("a.f90: first", 0, 7)
        now = 60.0
        progress.at("b.f90: second", 3, 7)
    assert capsys.readouterr().err == "asphalt: optimising, 3 of 7 done: b.f90: second\n"


def test_how_many_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        text = SHIFT.format(name=f"shift_{number}") + "! long\n" * 60_000
        (tmp_path / f"shift_{number}.f90").write_text(text)
    told: list[tuple[str, int, int]] = []
    monkeypatch.setattr(Progress, "at", lambda self, *what: told.append(what))
    with reading("reading the source"):
        assert len(Project(tmp_path, settings=Settings(cache=False)).problems) == 0
    assert told == [("reading the source", done, 6) for done in range(1, 7)]


def test_nothing_is_drawn_where_it_shall_be_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "shift.f90").write_text(SHIFT.format(name="shift"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert main(["--quiet", "scan", "--no-cache", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


def test_each_procedure_is_announced_before_its_turn(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.f90").write_text(SHIFT.format(name=name))
    told: list[tuple[str, int, int]] = []
    settings = Settings(jobs=1, cache=False, passes=("nonblocking", "motion"))
    Project(tmp_path, settings=settings).outcome(watch=lambda *what: told.append(what))
    assert sorted(name for name, _, _ in told) == [
        f"{tmp_path}/first.f90: first",
        f"{tmp_path}/second.f90: second",
    ]
    assert [(done, total) for _, done, total in told] == [(0, 2), (1, 2)]
