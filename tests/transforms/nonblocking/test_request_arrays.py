"""Requests in arrays, and one wait where several stand in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from asphalt.transforms.nonblocking.request_arrays import gathered
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

_PROGRAM = """\
subroutine halo(a, b, s, n, near, comm)
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_isend
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, intent(in) :: n, near, comm
  real(8), intent(inout) :: a(n), b(n), s(n)
  integer :: i, ierr, status(MPI_STATUS_SIZE){more}
  integer :: asphalt_request_1, asphalt_request_2, asphalt_request_3
  i = 1
  call asphalt_irecv(a, n, MPI_REAL8, near, 1, comm, asphalt_request_1)
  call asphalt_irecv(b(i), n, MPI_REAL8, near, 2, comm, asphalt_request_2)
  call asphalt_isend(s, n, MPI_REAL8, near, 3, comm, asphalt_request_3)
{between}{one}
{two}
{three}
end subroutine
"""
ONE, TWO, THREE = (
    f"  call asphalt_wait(asphalt_request_{number}, {buffer})"
    for number, buffer in ((1, "a"), (2, "b(i)"), (3, "s"))
)
ALL = "call asphalt_wait_all(3, asphalt_requests_1, a, b(i), s)"


def made(folder: Path, one: str = ONE, two: str = TWO, three: str = THREE, **more: str) -> str:
    """What becomes of a unit with these waits."""
    parts = {"between": "", "more": "", **more}
    text = _PROGRAM.format(one=one, two=two, three=three, **parts)
    stepped = Stepped.of(folder, {"halo.f90": text})
    path = str(folder / "halo.f90")
    (facts,) = stepped.facts()
    file = stepped.tree.file(path)
    unit = gathered(facts, macros=("EDGE",))
    return unparse(replace_unit(file, facts.unit, unit))


def test_several_waits_are_one(tmp_path: Path) -> None:
    after = made(tmp_path)
    assert f"  {ALL}\nend subroutine" in after
    assert "  integer :: asphalt_requests_1(3)\n" in after
    assert "near, 2, comm, asphalt_requests_1(2))\n" in after
    assert "use asphalt_transfers, only: asphalt_wait_all\n" in after


def test_those_of_one_place_are_neighbours(tmp_path: Path) -> None:
    """Requests have the order of their waits."""
    after = made(tmp_path, one=THREE, two="  b(2) = s(1)", three=f"{ONE}\n{TWO}")
    assert "  call asphalt_wait(asphalt_requests_1(1), s)\n" in after
    assert "  call asphalt_wait_all(2, asphalt_requests_1(2), a, b(i))\n" in after
    assert "use asphalt_transfers, only: asphalt_wait, asphalt_wait_all\n" in after


def test_those_that_are_never_in_progress_together_have_arrays_of_their_own(
    tmp_path: Path,
) -> None:
    start = "  call asphalt_isend(s, n, MPI_REAL8, near, 3, comm, asphalt_request_4)"
    wait = "  call asphalt_wait(asphalt_request_4, s)"
    fifth = start.replace("3, comm", "4, comm").replace("_4)", "_5)")
    after = made(
        tmp_path,
        three="\n".join((THREE, start, fifth, wait, wait.replace("_4", "_5"))),
        more="\n  integer :: asphalt_request_4, asphalt_request_5",
    )
    assert "  integer :: asphalt_requests_1(3), asphalt_requests_2(2)\n" in after
    assert "call asphalt_wait_all(2, asphalt_requests_2, s)\n" in after


def test_one_condition_is_that_of_one_wait(tmp_path: Path) -> None:
    one, two, three = (
        wait.replace("call", "if (near /= MPI_PROC_NULL) call") for wait in (ONE, TWO, THREE)
    )
    assert f"if (near /= MPI_PROC_NULL) {ALL}\n" in made(tmp_path, one, two, three)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"two": "  s(n) = a(1)\n" + TWO}, id="something-stands-between"),
        pytest.param({"two": "  ! what b needs\n" + TWO}, id="a-comment-stands-between"),
        pytest.param({"two": "10 " + TWO}, id="a-label"),
        pytest.param({"two": TWO.replace("b(i)", "b(i), status")}, id="a-status-is-read"),
        pytest.param({"two": TWO.replace("b(i)", "b(int(a(1)))")}, id="the-message-says-where"),
        pytest.param({"two": TWO.replace("call", "if (a(1) > 0) call")}, id="it-says-whether"),
        pytest.param(
            {
                "one": ONE.replace("call", "if (i > 0) call").replace("a)", "i)"),
                "two": TWO.replace("call", "if (i > 0) call").replace("b(i)", "b"),
            },
            id="the-first-changes-the-condition-of-the-second",
        ),
        pytest.param({"two": TWO.replace("call", "if (near > 0) call")}, id="another-condition"),
    ],
)
def test_waits_stay_apart(changes: dict[str, str], tmp_path: Path) -> None:
    after = made(tmp_path, **changes)
    assert "asphalt_wait(asphalt_requests_1(1), " in after
    assert "asphalt_wait_all(3, " not in after
    assert "asphalt_wait_all(2, asphalt_requests_1, " not in after


@pytest.mark.parametrize(
    "use",
    [
        "  call MPI_Test(asphalt_request_2, asphalt_done, status, ierr)\n",
        "  call asphalt_wait(asphalt_request_2, b(asphalt_request_2))\n",
        "  !$omp flush(asphalt_request_2)\n",
    ],
)
def test_a_request_that_others_name_stays_a_variable(use: str, tmp_path: Path) -> None:
    after = made(tmp_path, between=use, more="\n  logical :: asphalt_done")
    assert use in after
    assert "  call asphalt_wait(asphalt_request_2, b(i))\n" in after
    assert "near, 3, comm, asphalt_requests_1(2))\n" in after


def test_the_preprocessor_may_replace_a_name(tmp_path: Path) -> None:
    """It does not where it takes the name for a part of a constant: the text stays."""
    after = made(tmp_path, two=TWO.replace("b(i)", "b(EDGE)"))
    assert "call asphalt_wait(asphalt_request_2, b(EDGE))\n" in after


def test_the_wait_completes_what_several_waits_did(tmp_path: Path) -> None:
    """What asphalt reads of its own text."""
    text = made(tmp_path)
    (facts,) = Stepped.of(tmp_path / "again", {"halo.f90": text}).facts()
    messages = facts.once(Messages)
    ends = [messages.completed_by(leaf) for leaf, _ in messages.own_calls()]
    assert [len(found) for found in ends if found] == [3]
