"""Blocking transfers that have to stay so are told, and come out as they went in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from judging import SETTINGS, Case

from asphalt.analysis.conditions import point_to_point
from asphalt.passes import TRANSFERS
from asphalt.project import Project
from asphalt.report.examples import examples_of


def _case(code: str) -> Case:
    examples = examples_of(code)
    assert examples.refused is not None
    return Case(code, "example", examples.refused.read_text(), examples.accepted.read_text())


CASES = tuple(_case(code.id) for code in point_to_point.STAY_BLOCKING)


OTHERS = {"ASP024": ("refused", "MPI_Bcast", 2), "ASP025": ("assumed", "MPI_Allreduce", 1)}
"""Of collective operations: the verdict, the operation, and how many calls of it there are."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reason_is_told_and_nothing_changes(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "shift.f90"
    path.write_text(case.refused)
    found = Project(path, settings=replace(SETTINGS, passes=TRANSFERS))
    verdict, operation, calls = OTHERS.get(case.code, ("refused", "MPI_Sendrecv", 1))
    stay = (*found.kept_blocking(), *found.nothing_beside(found.transform()))
    told = [(one.verdict, one.code, one.operation) for one in stay]
    assert told == [(verdict, case.code, operation)] * calls
    assert found.transform() == ()


def test_without_the_pass_nothing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shift.f90"
    path.write_text(CASES[0].refused)
    assert Project(path, settings=SETTINGS).kept_blocking() == ()
