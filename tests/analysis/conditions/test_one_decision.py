"""Condition 10: every choice at run time is the same on all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.tiling.plan import Plan
from support.judging import Case, assert_accepted, assert_refused, program, site, transformed

SOME_PLANES = "do z = 1, last\n  s(:,z,:) = z\nend do\n"
READ = "read (*,*) last\n"

CASES = (
    Case(
        "ASP1001",
        "planes-by-rank",
        program(declare="integer :: last\n", before="last = nz - me\n", nest=SOME_PLANES),
        program(declare="integer :: last\n", before="last = nz - np + np\n", nest=SOME_PLANES),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_what_is_proved_equal_is_not_agreed_again(tmp_path: Path) -> None:
    text = program()
    judgement = site(tmp_path, text).judgement
    assert isinstance(judgement, Plan)
    assert judgement.certain
    assert "uniform=.true.)" in " ".join(transformed(tmp_path, text).split())


def test_what_may_differ_is_agreed_at_every_entry(tmp_path: Path) -> None:
    text = program(declare="integer :: last\n", before=READ, nest=SOME_PLANES)
    judgement = site(tmp_path, text).judgement
    assert isinstance(judgement, Plan)
    assert not judgement.certain
    words = " ".join(transformed(tmp_path, text).replace("&", "").split())
    assert "tiled=last == nz" in words
    assert "uniform" not in words
