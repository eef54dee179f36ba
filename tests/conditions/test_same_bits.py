"""Bit for bit: cutting a loop into tiles must not make a compiler compute other last digits."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import NEST, Case, assert_accepted, assert_refused, program, site

SINES = "do z = 1, nz\n  s(:,z,:) = sin(0.1d0*z)\nend do\n"

CASES = (
    Case(
        "ASP903",
        "sines-in-an-innermost-loop",
        program(nest=SINES),
        program(nest=SINES.replace("sin(", "sqrt(")),
        verdict="assumed",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_inner_loops_keep_their_trip_counts(tmp_path: Path) -> None:
    text = program(nest=NEST.replace("dble(i*z)", "sin(dble(i*z))"))
    assert site(tmp_path, text).report.verdict == "proved"
