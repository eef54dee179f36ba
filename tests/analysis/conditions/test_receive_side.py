"""Condition 5: what touches the receive buffer before the call makes pieces land in a clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.tiling.plan import Plan
from support.judging import (
    CALL,
    NEST,
    Case,
    assert_accepted,
    assert_refused,
    program,
    site,
    transformed,
)

UNEVEN = """\
call MPI_Alltoallv(s, counts, begins, MPI_DOUBLE_PRECISION, &
                   r, counts, begins, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""


def uneven(*, value: str = "z", before: str = "", between: str = "") -> str:
    """A program whose blocks differ in length, as far as is known."""
    return program(
        declare="integer, allocatable :: counts(:), begins(:)\nreal(8) :: x\n",
        before="allocate(counts(np), begins(np))\ncounts = n*(nz/2)\n"
        f"begins = [(n*nz*(p-1), p=1,np)]\nr = 1.5d0\n{before}",
        nest=f"do z = 1, nz\n  s(:,z,:) = {value}\nend do\n",
        between=between,
        call=UNEVEN,
    )


CASES = (
    Case("ASP501", "uneven-producer-reads-it", uneven(value="r(:,z,:) + z"), uneven()),
    Case(
        "ASP501",
        "uneven-read-between",
        uneven(between="x = sum(r)\n"),
        uneven(before="x = sum(r)\n"),
    ),
    Case("ASP502", "uneven-written-between", uneven(between="r = 0\n"), uneven(before="r = 0\n")),
)

FILLED = "r = 1.5d0\n"
READS = program(before=FILLED, nest=NEST.replace("+ p*me", "+ r(i,z,p)"))
READ_BETWEEN = program(declare="real(8) :: x\n", before=FILLED, between="x = r(1,1,1)\n")
CLEARS = program(nest="do z = 1, nz\n  s(:,z,:) = z\n  r(:,z,:) = 0\nend do\n")
CLEARED = program(between="do z = 1, nz\n  r(:,z,:) = 0\nend do\n")
OTHER_SHAPE = program(
    arrays="real(8) :: s(4,6,4), r(6,4,4)\n",
    allocate="",
    nest="do z = 1, 6\n  s(:,z,:) = z\nend do\n",
    call=CALL.replace("n*nz", "24"),
)


def clone_of(folder: Path, text: str) -> str | None:
    judgement = site(folder, text).judgement
    assert isinstance(judgement, Plan)
    return judgement.clone


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (READS, "r is read before the call"),
        (READ_BETWEEN, "r is read before the call"),
        (CLEARS, "r is written before the call"),
        (CLEARED, "r is written before the call"),
    ],
)
def test_pieces_land_in_a_clone(text: str, why: str, tmp_path: Path) -> None:
    assert clone_of(tmp_path, text) == why
    lines = [line.strip() for line in transformed(tmp_path, text).splitlines()]
    assert any(line.endswith(f"received into a clone: {why}") for line in lines)
    assert any("clone=.true." in line for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        program(),
        program(before=FILLED, nest=NEST.replace("do p = 1, np", "do p = 1, size(r, 3)")),
        program(declare="real(8) :: x\n", before=f"{FILLED}x = r(1,1,1)\n"),
        program(after="r = 2*r\n"),
        OTHER_SHAPE,
    ],
)
def test_pieces_land_in_the_buffer(text: str, tmp_path: Path) -> None:
    assert clone_of(tmp_path, text) is None
    assert "clone=" not in transformed(tmp_path, text)
