"""Condition 0, for exchanges that are written out with messages between two ranks.

``test_open_coded`` has many more forms of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import Case, assert_accepted, assert_refused
from support.open_coded import OWN, RECEIVES, RING, SENDS, WAIT, program

SELF = """\
call MPI_Sendrecv(me, 1, MPI_INTEGER, me, {tag}, many, 1, MPI_INTEGER, me, {tag}, &
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""

CASES = (
    Case(
        "ASP070",
        "a-rank-is-missed",
        program(RECEIVES + SENDS.replace("np - 1", "np - 2") + OWN + WAIT),
        program(),
    ),
    Case("ASP071", "a-wait-for-some", program(RING.replace("all(pending,", "all(1,")), program()),
    Case(
        "ASP072",
        "a-print-between",
        program(RECEIVES + "print *, me\n" + SENDS + WAIT),
        program(RECEIVES + SENDS + WAIT, after="print *, me\n"),
    ),
    Case(
        "ASP073",
        "one-tag-for-two",
        program(after=SELF.format(tag=5)),
        program(after=SELF.format(tag=6)),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)
