"""Condition 5: nothing touches the receive buffer from the first posted receive to the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import NEST, Case, assert_accepted, assert_refused, program, site

READS = NEST.replace("+ p*me", "+ r(i,z,p)")
CLEARS = "do z = 1, nz\n  s(:,z,:) = z\n  r(:,z,:) = 0\nend do\n"
FILLED = "r = 1.5d0\n"
ZERO = "do z = 1, nz\n  r(:,z,:) = 0\nend do\n"

CASES = (
    Case(
        "ASP501",
        "producer-reads-it",
        program(before=FILLED, nest=READS),
        program(before=FILLED, nest=READS.replace("r(i,z,p)", "p")),
    ),
    Case(
        "ASP501",
        "read-between-nest-and-call",
        program(declare="real(8) :: x\n", before=FILLED, between="x = r(1,1,1)\n"),
        program(declare="real(8) :: x\n", before=f"{FILLED}x = r(1,1,1)\n"),
    ),
    Case(
        "ASP502",
        "producer-clears-it",
        program(nest=CLEARS),
        program(nest=CLEARS.replace("r(", "s(")),
    ),
    Case("ASP502", "cleared-before-the-call", program(between=ZERO), program(before=ZERO)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_inquiries_are_no_reads(tmp_path: Path) -> None:
    text = program(nest=NEST.replace("do p = 1, np", "do p = 1, size(r, 3)"))
    assert site(tmp_path, text).report.verdict == "proved"
