"""Condition 11: the messages travel on a communicator of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import CALL, Case, assert_accepted, assert_refused, program, transformed

COMM = CALL.replace("MPI_COMM_WORLD", "comm")
INTER = """\
call MPI_Comm_split(MPI_COMM_WORLD, mod(me,2), 0, half, ierr)
call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(me,2), 1, comm, ierr)
"""
INTRA = INTER.replace("1, comm, ierr", "1, other, ierr") + "comm = half\n"
DECLARE = "integer :: half, comm, other\n"

CASES = (
    Case(
        "ASP1101",
        "between-two-groups",
        program(declare=DECLARE, before=INTER, call=COMM),
        program(declare=DECLARE, before=INTRA, call=COMM),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_no_message_travels_on_the_communicator_of_the_user(tmp_path: Path) -> None:
    """A receive of the user with MPI_ANY_TAG would swallow it."""
    text = transformed(tmp_path, program())
    words = " ".join(text.replace("&", "").split())
    for procedure in ("asphalt_isend", "asphalt_irecv"):
        arguments = words.split(f"call {procedure}(")[1]
        assert "asphalt_peer, 0, asphalt_comm," in arguments.split("call")[0]
