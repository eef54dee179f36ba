"""Transfers between two ranks are listed when all are asked for, and left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from support.judging import Case, program, project

WORLD = "MPI_COMM_WORLD"
DECLARED = "integer :: request, requests(3)\nlogical :: done\nreal(8) :: b(4)\n"
START = f"call MPI_Isend(b, 4, MPI_DOUBLE_PRECISION, 0, 1, {WORLD}, request, ierr)\n"
WAIT = "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
TEST = "call MPI_Test(request, done, MPI_STATUS_IGNORE, ierr)\n"
SEND = f"call MPI_Send(b, 4, MPI_DOUBLE_PRECISION, 0, 1, {WORLD}, ierr)\n"


def transfer(text: str) -> str:
    """A program that does this instead of an exchange between all ranks."""
    return program(declare=DECLARED, before="b = me\nr = 0\n", nest="", call=text)


CASES = (
    Case("ASP010", "completed", transfer(START + WAIT), program()),
    Case("ASP011", "not-completed", transfer(START), program()),
    Case("ASP011", "completed-on-one-branch", transfer(f"{START}if (np > 1) {WAIT}"), program()),
    Case("ASP011", "wait-for-nothing", transfer(WAIT), program()),
    Case("ASP012", "a-flag-decides", transfer(START + TEST), program()),
    Case("ASP012", "blocking", transfer(SEND), program()),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_listed(case: Case, tmp_path: Path) -> None:
    found = project(tmp_path, case.refused)
    assert found.sites() == ()
    (report,) = found.transfers()
    assert (report.verdict, report.code) == ("refused", case.code), report
    assert report.message
    assert report.witness
    assert found.transform() == ()


def test_the_way_is_the_witness(tmp_path: Path) -> None:
    (report,) = project(tmp_path, transfer(f"{START}if (np > 1) {WAIT}")).transfers()
    assert report.witness == "line 19: the condition is false; to the end of the procedure"
    assert [mark.text for mark in report.marks if mark.role == "path"] == ["the condition is false"]


def test_only_with_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.f90"
    path.write_text(transfer(START + WAIT))
    usual = ("--no-cache", "--jobs", "1", "--passes", "prepush")
    assert main(["scan", str(path), *usual]) == 0
    assert "ASP010" not in capsys.readouterr().out
    assert main(["scan", "--all", "--check", str(path), *usual]) == 0
    assert "ASP010" in capsys.readouterr().out
