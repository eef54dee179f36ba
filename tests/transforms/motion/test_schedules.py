"""Schedules of several lists at once: the text of one after the other, and what stays apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.motion import code_motion
from asphalt.transforms.motion.schedules import Move, Schedule, in_separate_lists
from support.stepping import Stepped
from support.taken_together import taken_together

EXCHANGE = """\
{name} call MPI_Irecv(h{n}, 5, MPI_REAL, {partner}, {n}, MPI_COMM_WORLD, r, ierr)
call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
do i = 1, {trips}
  g{n}(i) = g{n}(i)*2 + 1
end do
"""
PROGRAM = """\
subroutine step(h1, h2, h3, g1, g2, g3, left, right)
  use mpi
  implicit none
  integer, parameter :: m = 4
  integer, intent(in) :: left, right
  real, intent(inout) :: h1(5), h2(5), h3(5), g1(9), g2(9), g3(9)
  integer :: i, r, ierr
{body}
end subroutine step
"""


def exchange(n: int, partner: str, trips: str = "9") -> str:
    return EXCHANGE.format(name="", n=n, partner=partner, trips=trips)


def moved(folder: Path, body: str) -> tuple[list[int], str, str]:
    """How many schedules are made at once, time after time, the text that it leads to, and the one
    that a schedule at a time leads to."""
    tree = Stepped.of(folder, {"step.f90": PROGRAM.format(body=body)})
    sizes, text = taken_together(tree, code_motion.TRANSFORMATION, "step")
    tree.applied(code_motion)
    return sizes, text, tree.text("step.f90")


ARMS = f"if (left > 0) then\n{exchange(1, 'left')}else\n{exchange(2, 'right')}end if\n"
BRANCHES = (
    f"if (left > 0) then\n{exchange(1, 'left')}end if\n"
    f"if (right > 0) then\n{exchange(2, 'right')}end if\n"
)


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        (ARMS, [2]),
        (BRANCHES, [2]),
        (BRANCHES + f"do i = 1, 2\nend do\n{exchange(3, 'left')}", [2, 1]),
    ],
    ids=["arms", "branches", "a-list-around-them"],
)
def test_the_text_is_that_of_one_after_the_other(
    body: str, sizes: list[int], tmp_path: Path
) -> None:
    found, text, one_by_one = moved(tmp_path, body)
    assert found == sizes
    assert text == one_by_one
    lines = [line.strip() for line in text.splitlines()]
    waits = [n for n, line in enumerate(lines) if "MPI_Wait(" in line]
    assert waits
    assert all(lines[n - 1] == "end do" for n in waits)


def schedule(*path: int, sizes: frozenset[str] = frozenset()) -> Schedule:
    return Schedule(1, "", (), (Move(1, "", (), path, 1, 2, sizes),))


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([schedule(1, 0), schedule(1, 1), schedule(3)], 3),
        ([schedule(1, 0, 2), schedule(1, 0), schedule(3)], 1),
        ([schedule(), schedule(3)], 1),
        ([schedule(1), schedule(2, sizes=frozenset({"n"})), schedule(3)], 1),
        ([schedule(1, sizes=frozenset({"n"})), schedule(2)], 1),
    ],
    ids=["separate", "one-in-another", "all", "a-check-behind", "a-check"],
)
def test_lists_that_share_statements_are_scheduled_one_after_the_other(
    steps: list[Schedule], kept: int, tmp_path: Path
) -> None:
    facts = Stepped.of(tmp_path, {"step.f90": PROGRAM.format(body="")}).facts()[0]
    found = in_separate_lists(facts, iter(steps))
    assert found.reported == tuple(move for one in steps[:kept] for move in one.moves)
