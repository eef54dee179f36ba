"""The clock of the cost model: roles of ranks, branches, and what a wait waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.gain.model import Model
from asphalt.machine.platforms import ETHERNET_1
from support.stepping import Stepped

_FRAME = """\
subroutine unit(a, b, w, n, np, me, comm, theirs)
  use mpi
  implicit none
  integer, intent(in) :: n, np, me, comm
  real(8), intent(inout) :: a(*), b(*), w(*)
  integer, intent(inout) :: theirs(2)
  integer :: status(MPI_STATUS_SIZE), own(2), ierr, i, p, k
{body}
end subroutine unit
"""
_WORK = "do i = 1, {}\n w(i) = w(i) + 0.5d0*i\n end do\n"
_LITTLE, _MUCH = _WORK.format(1000), _WORK.format(1000000)
_SEND = "call MPI_Send(b, {}, MPI_DOUBLE_PRECISION, {}, {}, comm, ierr)\n"
_RECV = "call MPI_Recv(a, {}, MPI_DOUBLE_PRECISION, {}, {}, comm, status, ierr)\n"
_START = "call MPI_Irecv(a, {}, MPI_DOUBLE_PRECISION, {}, {}, comm, {}, ierr)\n"
_BARRIER = "call MPI_Barrier(comm, ierr)\n"
_WAIT = "call MPI_Wait({}, status, ierr)\n"


def _seconds(folder: Path, *body: str) -> float:
    stepped = Stepped.of(folder, {"unit.f90": _FRAME.format(body="".join(body))})
    (facts,) = stepped.facts()
    (seconds,) = Model([ETHERNET_1]).price(stepped.tree, facts.located).seconds
    return seconds


def _branch(condition: str, then: str, otherwise: str | None = None) -> str:
    other = "" if otherwise is None else f"else\n{otherwise}"
    return f"if ({condition}) then\n{then}{other}end if\n"


def test_what_an_arm_has_sent_is_on_its_way_behind_a_slower_one(tmp_path: Path) -> None:
    """Work behind the branch hides the message, although the other arm sent none."""
    exchange = _SEND.format(100, 0, 7) + _RECV.format(100, 0, 7)
    slower = _WORK.format(100000)
    branch = _branch("w(1) > 0", _SEND.format(100, 0, 7), slower)
    alone = _seconds(tmp_path / "alone", exchange, branch, _MUCH)
    received = _seconds(tmp_path / "all", exchange, branch, _MUCH, _RECV.format(100, 0, 7))
    assert received - alone < ETHERNET_1.latency


def test_what_an_arm_has_started_is_waited_for_behind_a_slower_one(tmp_path: Path) -> None:
    """Be the request one that the slower arm knows from an earlier turn, or not."""
    start = _START.format(100000, 0, 7, "own(1)")
    turns = "do k = 1, 3\n{}end do\n"
    branch = _branch("mod(k, 2) == 0", start, _LITTLE + _WAIT.format("own(1)"))
    before = _seconds(tmp_path / "before", start, turns.format(branch))
    after = _seconds(tmp_path / "after", start, turns.format(branch), _WAIT.format("own(1)"))
    assert after - before > 0


@pytest.mark.parametrize("several", [False, True])
def test_a_wait_whose_starts_are_not_known_takes_what_a_known_one_does(
    several: bool, tmp_path: Path
) -> None:
    """Others may have started something with a request that is passed, too."""
    wait = "call MPI_Waitall(2, {0}, MPI_STATUSES_IGNORE, ierr)\n" if several else _WAIT.format(
        "{0}(1)") + _WAIT.format("{0}(2)")  # fmt: skip
    body = _START.format(100, 0, 7, "{0}(1)") + _START.format(100, 1, 7, "{0}(2)") + wait
    own, theirs = (_seconds(tmp_path / name, body.format(name)) for name in ("own", "theirs"))
    assert theirs == pytest.approx(own)
    assert own > ETHERNET_1.latency


def test_a_rank_that_only_sends_goes_on_while_the_first_one_works(tmp_path: Path) -> None:
    """The same condition tells the same ranks apart, be it asked once or twice."""
    gather = _branch("me == 0", _RECV.format(100, 1, 7) + _MUCH, _SEND.format(100, 0, 7))
    sends = _branch("me == 0", _LITTLE, _MUCH)
    one = _seconds(tmp_path / "one", gather, _BARRIER)
    assert _seconds(tmp_path / "both", gather, sends, _BARRIER) < 1.1 * one


def test_a_branch_in_two_halves_costs_what_it_does_as_one(tmp_path: Path) -> None:
    receive, send = _RECV.format(100, 1, 7), _SEND.format(100, 0, 7)
    whole = _branch("me == 0", receive + _MUCH, send + _LITTLE)
    halves = _branch("me == 0", receive, send) + _branch("me == 0", _MUCH, _LITTLE)
    one, two = (_seconds(tmp_path / str(n), x) for n, x in enumerate((whole, halves)))
    assert two == pytest.approx(one)


def test_roles_wait_for_each_other_where_all_communicate_together(tmp_path: Path) -> None:
    gather = _branch("me == 0", _RECV.format(100, 1, 7) + _MUCH, _SEND.format(100, 0, 7))
    other = _branch("me == 0", _LITTLE, _MUCH)
    work = _seconds(tmp_path / "work", _MUCH)
    free = _seconds(tmp_path / "free", gather, other, _BARRIER)
    bound = _seconds(tmp_path / "bound", gather, _BARRIER, other, _BARRIER)
    assert bound - free > 0.9 * work


def test_what_the_first_rank_waits_for_was_sent_in_another_branch(tmp_path: Path) -> None:
    """Work of the ranks that send delays it, although the receive has been posted before."""
    start = _branch("me == 0", _START.format(100, 1, 7, "own(1)"))
    end = _branch("me == 0", _WAIT.format("own(1)"))
    early = _branch("me /= 0", _SEND.format(100, 0, 7))
    late = _branch("me /= 0", _MUCH + _SEND.format(100, 0, 7))
    work = _seconds(tmp_path / "work", _MUCH)
    times = [_seconds(tmp_path / str(n), start, x, end) for n, x in enumerate((early, late))]
    assert times[1] - times[0] == pytest.approx(work)


def test_ranks_that_were_in_arms_inside_of_arms_are_together_again(tmp_path: Path) -> None:
    """Each branch takes half of its longest arm and half of the mean of both."""
    inner = _branch("w(2) > 0", _SEND.format(100, 0, 7) + _MUCH, _LITTLE)
    outer = _branch("w(1) > 0", inner, _LITTLE)
    work, alone, both = (
        _seconds(tmp_path / str(n), x) for n, x in enumerate((_MUCH, inner, outer))
    )
    assert alone == pytest.approx(work * 0.75, rel=0.05)
    assert both == pytest.approx(alone * 0.75, rel=0.05)


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("call MPI_Type_vector(8, 1, 1000, MPI_DOUBLE_PRECISION, k, ierr)\n", False),
        ("call MPI_Type_commit(k, ierr)\n", False),
        ("call MPI_Comm_rank(comm, k, ierr)\n", False),
        (_BARRIER, True),
        ("call MPI_Comm_dup(comm, k, ierr)\n", True),
    ],
)
def test_nobody_waits_for_what_is_local(call: str, waits: bool, tmp_path: Path) -> None:
    branch = _branch("me == 0", _MUCH, _LITTLE)
    alone = _seconds(tmp_path / "alone", branch, _LITTLE)
    assert (_seconds(tmp_path / "with", branch, call, _LITTLE) > alone) is waits
