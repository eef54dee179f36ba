"""A call that is an exchange and a transfer has one report, which claims nothing undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.diagnostics.model import SiteReport
from asphalt.report.merged_reports import merged_reports, not_transformed

_SITE = SiteReport("work", "a.f90", 7, "MPI_Alltoall", "work", "proved", message="can be prepushed")
_IDLE = SiteReport(
    "work:7", "a.f90", 7, "MPI_Alltoall", "work", "refused", "ASP026", "it could be non-blocking"
)
_DONE = SiteReport("work:7", "a.f90", 7, "MPI_Alltoall", "work", "applied", message="overlaps")
_OTHER = SiteReport("work:3", "a.f90", 3, "MPI_Send", "work", "refused", "ASP026", "no work")


def test_calls_of_one_kind_stay_in_order() -> None:
    assert merged_reports([_SITE], [_OTHER], ("prepush", "motion")) == (_OTHER, _SITE)


def test_steps_are_reported() -> None:
    assert merged_reports([_SITE], [_DONE], ("motion",)) == (_DONE,)


def test_what_was_not_asked_for_is_mentioned() -> None:
    (found,) = merged_reports([_SITE], [_IDLE], ("motion",))
    assert (found.code, found.verdict) == ("ASP026", "refused")
    assert found.message.endswith("with --passes prepush, it can be prepushed")
    assert merged_reports([_SITE], [_IDLE], ("prepush", "motion")) == (_SITE,)


def test_why_an_operation_that_is_never_prepushed_stays() -> None:
    never = replace(_SITE, verdict="refused", code="ASP001", message="use --passes transfers")
    assert merged_reports([never], [_IDLE], ("prepush", "motion")) == (_IDLE,)
    assert merged_reports([never], [], ("prepush",)) == (never,)


def test_what_could_be_done_was_not() -> None:
    assert not_transformed(_SITE).message == "not transformed: can be prepushed"
    assert not_transformed(_DONE) is _DONE


_PROGRAM = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 300
  integer :: i, ierr
  real(8) :: w(n), total, mine
  call MPI_Init(ierr)
  mine = 1
  call MPI_Allreduce(mine, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)
  do i = 1, n
    w(i) = sqrt(dble(i))
  end do
  print *, total, w
  call MPI_Finalize(ierr)
end program exchange
"""
_QUIET = ["--no-cache", "--jobs", "1", "--passes", "transfers"]


def test_explain_says_what_apply_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "exchange.f90"
    path.write_text(_PROGRAM)
    assert main(["apply", str(path), "--output", str(tmp_path / "out"), *_QUIET]) == 0
    told = capsys.readouterr().out
    assert "ASP025  not transformed: " in told
    assert "it overlaps with do i = 1, n" in told
    assert main(["explain", f"{path}:9", *_QUIET]) == 0
    assert "not accepted" in capsys.readouterr().out
    assert main(["explain", f"{path}:9", "--assume", "bits", *_QUIET]) == 0
    told = capsys.readouterr().out
    assert "proved" in told
    assert "overlaps with do i = 1, n" in told
    assert "the transfer" in told  # drawn over the source


_CALLED = """
subroutine total_of(mine, total, other)
  use mpi
  implicit none
  real(8), intent(in) :: mine
  real(8), intent(inout) :: total, other
  integer :: ierr
  call MPI_Allreduce(mine, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Recv(other, 1, MPI_REAL8, merge(MPI_PROC_NULL, 0, mine > 2), 1, MPI_COMM_WORLD, &
                MPI_STATUS_IGNORE, ierr)
end subroutine total_of
"""


def test_a_call_that_is_inlined_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the procedure and the line where it stood, as an option names it."""
    path = tmp_path / "exchange.f90"
    call = next(line for line in _PROGRAM.splitlines() if "Allreduce" in line)
    program = _PROGRAM.replace("total, mine", "total, mine, other")
    path.write_text(program.replace(call, "  call total_of(mine, total, other)") + _CALLED)
    line = path.read_text()[: path.read_text().index("MPI_Allreduce")].count("\n") + 1
    site, other = f"bits@total_of:{line}", f"bits@total_of:{line + 1}"
    out = ["--output", str(tmp_path / "out"), "--assume", f"{site},{other}"]
    assert main(["apply", str(path), *out, *_QUIET]) == 0
    told = capsys.readouterr()
    (report,) = (text for text in told.out.splitlines() if "MPI_Allreduce" in text)
    assert "applied" in report
    assert report.endswith("in exchange (assuming bits)")
    assert site not in told.err
    assert f"--assume {other} has no effect: no exchange here needs it" in told.err


def test_nothing_is_assumed_where_nothing_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "exchange.f90"
    path.write_text(_PROGRAM.replace("  do i = 1, n", "  print *, total\n  do i = 1, n"))
    out = ["--output", str(tmp_path / "out"), "--assume", "bits"]
    assert main(["apply", str(path), *out, *_QUIET]) == 0
    told = capsys.readouterr()
    assert "refused  ASP026" in told.out
    assert "assuming" not in told.out
    assert "no exchange here needs" not in told.err
