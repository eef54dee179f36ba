"""Units that other parsers read otherwise: they are asked where something could be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.ir.tree import Unit
from asphalt.optimiser import unchanged_units
from asphalt.project import Project
from asphalt.report.project_reports import reports_after

SHIFT = """\
subroutine shift(a, b, n, right, left, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, right, left, comm
  real(8), intent(inout) :: a(n), b(n)
  integer :: ierr, i
{receive}
{work}
end subroutine shift
"""
EXCHANGE = """\
  call MPI_Sendrecv(a(1), 1, MPI_REAL8, right, 1, a(n), 1, MPI_REAL8, left, 1, comm, &
                    MPI_STATUS_IGNORE, ierr)"""
OTHER_WORK = "  do i = 1, n\n    b(i) = b(i)*2.0d0 + sqrt(b(i))\n  end do"
OF_THE_MESSAGE = "  print *, a(n)"


def _project(folder: Path, work: str, receive: str = EXCHANGE) -> Project:
    (folder / "shift.f90").write_text(SHIFT.format(receive=receive, work=work))
    return Project(folder, settings=Settings(jobs=1, cache=False, passes=TRANSFERS))


def _asked(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> list[str]:
    """The units that another parser is asked about from now on; ``answer``: what differs."""
    asked: list[str] = []

    def differs(index: object, chain: tuple[Unit, ...]) -> str | None:
        asked.append(chain[-1].name)
        return answer

    monkeypatch.setattr(unchanged_units, "differs", differs)
    return asked


def test_a_unit_that_is_changed_is_read_by_other_parsers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _asked(monkeypatch, None)
    assert _project(tmp_path, OTHER_WORK).outcome().changes
    assert set(asked) == {"shift"}


def test_one_that_they_read_otherwise_stays_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _asked(monkeypatch, "its last line")
    project = _project(tmp_path, OTHER_WORK)
    outcome = project.outcome()
    why = "two parsers read it differently: its last line"
    assert outcome.changes == ()
    assert [one.ended for one in outcome.procedures] == [why]
    (site,) = reports_after(project, outcome)
    assert site.verdict == "refused"
    assert site.message == f"its procedure is not transformed: {why}"


def test_nobody_is_asked_where_nothing_could_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _asked(monkeypatch, "its last line")
    project = _project(tmp_path, OF_THE_MESSAGE)
    outcome = project.outcome()
    (site,) = reports_after(project, outcome)
    assert outcome.changes == ()
    assert "two parsers" not in site.message
    assert asked == []


def test_an_operation_that_the_program_starts_itself_says_why_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _asked(monkeypatch, "its last line")
    receive = "  call MPI_Irecv(a(n), 1, MPI_REAL8, left, 1, comm, i, ierr)\n"
    receive += "  call MPI_Wait(i, MPI_STATUS_IGNORE, ierr)"
    project = _project(tmp_path, "  b(1) = 2\n  b(2:n) = sqrt(b(2:n))", receive)
    outcome = project.outcome()
    (site,) = reports_after(project, outcome)
    assert outcome.changes == ()
    assert site.message.startswith("its procedure is not transformed: two parsers read it")


def test_two_units_of_one_name_stay_and_say_so(tmp_path: Path) -> None:
    one = SHIFT.format(receive=EXCHANGE, work=OTHER_WORK)
    (tmp_path / "shift.f90").write_text(one + one)
    project = Project(tmp_path, settings=Settings(jobs=1, cache=False, passes=TRANSFERS))
    outcome = project.outcome()
    assert outcome.changes == ()
    messages = [site.message for site in reports_after(project, outcome)]
    assert messages == ["its procedure is not transformed: two units have one name"] * 2
