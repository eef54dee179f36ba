"""A failure of asphalt in one procedure is told of with its place; the others are transformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.cli.main import main
from asphalt.driver import blocking_reports, units_ahead
from asphalt.ir.program import Located
from asphalt.optimiser.outcome import Optimised

_PROCEDURES = """\
subroutine {name}(a, b, w, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n), w(n)
  integer :: ierr, i
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do i = 1, n
    w(i) = sqrt(w(i)) + 1
  end do
end subroutine {name}
"""
_SOURCE = _PROCEDURES.format(name="first") + _PROCEDURES.format(name="second")
_FLAGS = ["--passes", "all", "--jobs", "1", "--no-cache"]


def _fails_in(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = units_ahead.optimise

    def failing(tree: object, located: Located, *more: object) -> Optimised:
        if located.unit.name == name:
            raise KeyError("v")
        return real(tree, located, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(units_ahead, "optimise", failing)
    monkeypatch.setattr(InternalErrors, "raised", False)


def test_the_other_procedures_are_transformed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "pair.f90", tmp_path / "out"
    source.write_text(_SOURCE)
    _fails_in(monkeypatch, "first")
    assert main(["apply", str(source), "--output", str(out), *_FLAGS]) == 0
    said = capsys.readouterr()
    lines = [line.split(maxsplit=4) for line in said.out.splitlines()]
    assert [words[0] for words in lines] == [f"{source}:7", f"{source}:19"]
    assert lines[0][2:4] == ["refused", "ASP026"]
    assert lines[0][4].startswith("an internal error of asphalt")
    assert lines[1][2] == "applied"
    assert f"warning: {source}:1: an internal error of asphalt (KeyError 'v'" in said.err
    assert "first is left as it was" in said.err
    changed = (out / "pair.f90").read_text()
    assert changed.startswith(_PROCEDURES.format(name="first"))
    assert changed.count("call asphalt_isend") == 1


def test_the_check_of_a_scan_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "pair.f90"
    source.write_text(_SOURCE)
    assert main(["scan", "--check", str(source), *_FLAGS]) == 0
    _fails_in(monkeypatch, "second")
    assert main(["scan", "--check", str(source), *_FLAGS]) == 1


def test_a_report_that_fails_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "pair.f90"
    source.write_text(_SOURCE)

    def failing(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(InternalErrors, "raised", False)
    monkeypatch.setattr(blocking_reports.blocking, "kept_blocking", failing)
    assert main(["scan", str(source), *_FLAGS]) == 0
    assert capsys.readouterr().err.count("an internal error of asphalt (AssertionError") == 2
