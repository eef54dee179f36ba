"""Transfers between readings of a clock: overlapped under `--assume timers`, assumed without it,
and refused where a reading decides something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.report.project_reports import reports_before
from support.mpi_run import OPENMPI, RUNTIME, build, installed, run

_PROGRAM = """\
module stopwatch
  implicit none
  logical :: wanted = .true.
  real(8) :: since(2), sums(2) = 0, factor = 0.5d0
contains
  subroutine click(k)
    use mpi
    integer, intent(in) :: k
    since(k) = MPI_Wtime()
  end subroutine click
  subroutine clack(k, row)
    use mpi
    integer, intent(in) :: k
    real(8), intent(in) :: row(:)
    sums(k) = sums(k) + MPI_Wtime() - since(k)
{clack}
  end subroutine clack
end module stopwatch
program ring
  use mpi
  use stopwatch
  implicit none
  integer, parameter :: n = 20000
  integer :: me, np, ierr, i
  real(8) :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  c = 2
  b = 0
  a = me
  if (np < 0) print *, np
  if (wanted) call click(1)
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, mod(me + 1, np), 1, b, n, MPI_DOUBLE_PRECISION, &
                    mod(me - 1 + np, np), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (wanted) call clack(1, {row})
  do i = 1, n
    c(i) = factor*c(i) + i
  end do
{end}
  if (me == 0) print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program ring
"""
_OWN = "c(1:2)"


def told(
    folder: Path, *accepted: str, clack: str = "", row: str = _OWN, end: str = ""
) -> SiteReport:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ring.f90"
    path.write_text(_PROGRAM.format(clack=clack, row=row, end=end))
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset(accepted))
    found = reports_before(Project(path, settings=own))
    (report,) = (one for one in found if one.operation == "MPI_Sendrecv")
    return report


def test_a_transfer_passes_readings_under_the_assumption(tmp_path: Path) -> None:
    without, accepted = told(tmp_path), told(tmp_path, "timers")
    assert (without.verdict, without.assumptions) == ("assumed", ("timers",))
    assert "it overlaps with do i = 1, n" in without.message
    assert (accepted.verdict, accepted.accepted) == ("proved", ("timers",))
    assert "behind the reading of a clock in line 36" in accepted.message


@pytest.mark.parametrize(
    ("clack", "row", "end"),
    [
        ("", _OWN, "  if (sums(1) > 100) stop"),
        ("    if (sums(k) > 100) factor = 1", _OWN, "  do i = 1, int(factor)\n  end do"),
        ("", _OWN, "  call MPI_Send(sums, 2, MPI_REAL8, 0, 1, MPI_COMM_WORLD, ierr)"),
        ("", _OWN, "  call random_seed(put=[(int(sums(1)), i = 1, 64)])"),
        ("    write (*, *) sums(k)", _OWN, ""),  # output keeps its place
    ],
)
def test_it_does_not_where_they_decide_something(
    clack: str, row: str, end: str, tmp_path: Path
) -> None:
    for accepted in ((), ("timers",)):
        assert told(tmp_path, *accepted, clack=clack, row=row, end=end).verdict == "refused"


def test_what_reads_the_message_beside_the_clock_waits_for_it(tmp_path: Path) -> None:
    told(tmp_path, clack="    factor = 0.5d0 + 0.01d0*row(1)", row="b")
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset({"timers"}))
    (change,) = Project(tmp_path / "ring.f90", settings=own).outcome().changes
    text = change.after.decode()
    received = re.search(r"asphalt_irecv\(b,.*?(asphalt_requests_1\(\d\))\)", text, re.DOTALL)
    assert received is not None
    waits = text.index(f"call asphalt_wait({received[1]},")
    assert waits < text.index("call clack(") < text.index("call asphalt_wait(", waits + 1)


def test_the_assumption_makes_no_reading_equal_on_all_ranks(tmp_path: Path) -> None:
    text = _PROGRAM.format(clack="", row=_OWN, end="").replace(
        "  call MPI_Sendrecv",
        "  if (sums(1) < 1) call MPI_Bcast(c, n, MPI_REAL8, 0, "
        "MPI_COMM_WORLD, ierr)\n  call MPI_Sendrecv",
    )
    path = tmp_path / "ring.f90"
    path.write_text(text)
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset({"timers"}))
    found = reports_before(Project(path, settings=own))
    assert [one.verdict for one in found if one.operation == "MPI_Bcast"] == ["refused"]


@pytest.mark.skipif(not installed(OPENMPI), reason="Open MPI is not installed")
def test_results_are_the_same(tmp_path: Path) -> None:
    assert told(tmp_path, "timers").verdict == "proved"
    path = tmp_path / "ring.f90"
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset({"timers"}))
    project = Project(path, settings=own)
    (change,) = project.outcome().changes
    said: list[str] = []
    for name, content in (("before", change.before), ("after", change.after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "ring.f90").write_bytes(content)
        program = build(OPENMPI, [*RUNTIME, folder / "ring.f90"], folder)
        said.append(run(OPENMPI, program, 2).stdout)
    assert said[0] == said[1]


def test_the_report_of_apply_says_what_the_assumption_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in" / "ring.f90"
    path.parent.mkdir()
    text = _PROGRAM.format(clack="", row=_OWN, end="")
    path.write_text(text + "! as long as programs that take long\n" * 1000)
    usual = ["--no-cache", "--jobs", "1", "--passes", "transfers"]
    apply = ["apply", *usual, str(path.parent), "--output"]
    assert main([*apply, str(tmp_path / "out")]) == 0
    found = capsys.readouterr()
    assert "refused  ASP026" in found.out
    assert "clocks are read around 1 of the refused operations" in found.err
    report = tmp_path / "report.json"
    assert main([*apply, str(tmp_path / "again"), "--report", str(report)]) == 0
    long = capsys.readouterr()
    path.write_text(text)
    assert main([*apply, str(tmp_path / "short")]) == 0
    found = capsys.readouterr()
    assert found.out == long.out
    assert "assumed  ASP026  not transformed: it overlaps with" in found.out
    assert "behind the reading of a clock" in found.out
    assert "with --assume timers" in found.out
    assert "clocks are read" not in found.err
    assert '"verdict": "assumed"' in report.read_text()
    assert main([*apply, str(tmp_path / "other"), "--assume", "timers"]) == 0
    assert "clocks are read" not in capsys.readouterr().err
