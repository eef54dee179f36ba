"""Blocking transfers that have to stay so are told, and come out as they went in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.conditions import point_to_point
from asphalt.config.passes import TRANSFERS
from asphalt.diagnostics.examples import examples_of
from asphalt.project import Project
from support.judging import SETTINGS, Case


def _case(code: str) -> Case:
    examples = examples_of(code)
    assert examples.refused is not None
    return Case(code, "example", examples.refused.read_text(), examples.accepted.read_text())


CASES = tuple(_case(code.id) for code in point_to_point.STAY_BLOCKING)


OTHERS = {"ASP024": ("refused", "MPI_Bcast", 2), "ASP025": ("assumed", "MPI_Allreduce", 1)}
"""Of collective operations: the verdict, the operation, and how many calls of it there are."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reason_is_reported_and_nothing_changes(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "shift.f90"
    path.write_text(case.refused)
    found = Project(path, settings=replace(SETTINGS, passes=TRANSFERS))
    verdict, operation, calls = OTHERS.get(case.code, ("refused", "MPI_Sendrecv", 1))
    stay = (*found.kept_blocking(), *found.not_overlapped(found.transform()))
    told = [(one.verdict, one.code, one.operation) for one in stay]
    assert told == [(verdict, case.code, operation)] * calls
    assert found.transform() == ()


def test_without_the_pass_nothing_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "shift.f90"
    path.write_text(CASES[0].refused)
    assert Project(path, settings=SETTINGS).kept_blocking() == ()


@pytest.mark.parametrize(
    ("lines", "code", "why"),
    [
        ("", "ASP007", "nothing declares MPI_REAL8; write `use mpi`"),
        ("  use mpi_f08, only: MPI_Send\n", "ASP007", "the list of line 2 (mpi_f08) lacks"),
        ("  use mpi\n  use sizes, only: right\n", "ASP013", "module sizes is not among"),
        ("  use mpi\n  use sizes\n", "ASP013", "module sizes is not among"),
    ],
)
def test_what_is_not_declared(lines: str, code: str, why: str, tmp_path: Path) -> None:
    """The cause is told: the module of MPI, or of the program, that is missing."""
    call = "  call MPI_Send(a, 8, MPI_REAL8, right, 1, MPI_COMM_WORLD, ierr)\n"
    text = f"subroutine s(a)\n{lines}  implicit none\n  real(8) :: a(8)\n  integer :: ierr\n{call}"
    (tmp_path / "s.f90").write_text(f"{text}end subroutine s\n")
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    (report,) = project.kept_blocking()
    assert report.code == code
    assert why in report.message
    assert any(mark.line in (1, 2, 3) for mark in report.marks)


def test_missing_inputs_are_reported_only_where_they_are_the_reason(tmp_path: Path) -> None:
    """A module may be called like a word of the reason."""
    call = "10 call MPI_Send(a, 8, MPI_REAL8, right, 1, MPI_COMM_WORLD, ierr)\n"
    uses = "  use mpi\n  use line, only: right\n  implicit none\n"
    text = f"subroutine s(a)\n{uses}  real(8) :: a(8)\n  integer :: ierr\n{call}"
    (tmp_path / "s.f90").write_text(f"{text}end subroutine s\n")
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    (report,) = project.kept_blocking()
    assert report.message.endswith("line 7 has a label")
    assert report.code == point_to_point.STAYS.id
