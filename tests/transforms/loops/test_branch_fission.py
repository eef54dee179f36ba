"""Where a branch is split: behind the starts and sends that stand in front of a wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import branch_fission
from support.stepping import Stepped

_UNIT = """\
subroutine both(u, a, b, out, n, up, down, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, up, down, comm
  real(8), intent(inout) :: u(n), a(n), b(n), out(n,2)
  integer :: i, length, ierr, error, one, two, three
{outside}
  if (n > 1) then
{body}
  end if
end subroutine both
"""
_POST = """\
    call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, down, 1, comm, one, ierr)
"""
_BEFORE = f"  if (n > 1) then\n{_POST}  end if"
_PACK = """\
    length = 0
    do i = 2, n
      length = length + 1
      out(length,{0}) = u(i)
    end do
"""
_SEND = "    call MPI_Send(out(1,{0}), length, MPI_DOUBLE_PRECISION, up, {0}, comm, ierr)\n"
_ISEND = "    call MPI_Isend(out(1,{0}), length, MPI_DOUBLE_PRECISION, up, {0}, comm, {1}, ierr)\n"
_WAIT = "    call MPI_Wait({}, MPI_STATUS_IGNORE, ierr)\n"
_USE = "    u(1) = a(1)\n"


def _halves(folder: Path, body: str, outside: str = "") -> list[list[str]]:
    """The calls in each part, those of MPI by what stands behind the underscore."""
    text = _UNIT.format(body=body, outside=outside)
    stepped = Stepped.of(folder, {"both.f90": text})
    stepped.applied(branch_fission)
    parts: list[list[str]] = []
    for line in stepped.text("both.f90").splitlines():
        if line.strip().startswith("if (n > 1)"):
            parts.append([])
        if parts and "call MPI_" in line:
            parts[-1].append(line.split("MPI_")[1].split(",")[0].rstrip("\n"))
    return parts


def test_behind_blocking_sends(tmp_path: Path) -> None:
    body = _PACK.format(1) + _POST + _SEND.format(1) + _PACK.format(2) + _SEND.format(2)
    parts = _halves(tmp_path, body + _WAIT.format("one") + _USE)
    assert parts == [["Irecv(a"], ["Send(out(1", "Send(out(1"], ["Wait(one"]]


def test_a_wait_for_a_send_comes_behind_the_next_start(tmp_path: Path) -> None:
    """Its buffer has another column than the one that is filled then."""
    own = _WAIT.format("two").replace("ierr", "error")
    body = (
        _POST + _PACK.format(2) + _ISEND.format(2, "two") + own
        + _PACK.format(1) + _ISEND.format(1, "three") + _WAIT.format("one") + _USE
        + _WAIT.format("three")
    )  # fmt: skip
    assert _halves(tmp_path, body) == [
        ["Irecv(a"],
        ["Isend(out(1", "Isend(out(1"],
        ["Wait(two", "Wait(one", "Wait(three"],
    ]


def test_a_wait_for_a_send_stays_in_front_of_what_fills_its_buffer(tmp_path: Path) -> None:
    own = _WAIT.format("two").replace("ierr", "error")
    body = (
        _POST + _PACK.format(1) + _ISEND.format(1, "two") + own
        + _PACK.format(2) + _ISEND.format(2, "three") + _WAIT.format("one") + _USE
        + _WAIT.format("three")
    )  # fmt: skip
    calls = [call for part in _halves(tmp_path, body) for call in part]
    assert calls == [
        "Irecv(a",
        "Isend(out(1",
        "Wait(two",
        "Isend(out(1",
        "Wait(one",
        "Wait(three",
    ]


def test_a_receive_that_was_started_before(tmp_path: Path) -> None:
    body = _PACK.format(1) + _SEND.format(1) + _WAIT.format("one") + _USE
    assert _halves(tmp_path, body, outside=_BEFORE)[1:] == [
        ["Send(out(1"],
        ["Wait(one"],
    ]


@pytest.mark.parametrize(
    "body",
    [
        # nothing is under way at the wait but a send, which has its own
        _PACK.format(1) + _SEND.format(1),
        # a collective operation in front of the wait
        _PACK.format(1)
        + _SEND.format(1)
        + "    call MPI_Barrier(comm, ierr)\n"
        + _WAIT.format("one"),
    ],
)
def test_a_branch_stays_whole(tmp_path: Path, body: str) -> None:
    assert len(_halves(tmp_path, body, outside=_BEFORE)) == 2


def test_what_the_condition_reads_stays_in_one_branch(tmp_path: Path) -> None:
    body = _PACK.format(1) + _SEND.format(1) + _WAIT.format("one") + _USE
    text = _UNIT.format(body=body, outside="  length = n\n" + _BEFORE)
    text = text.replace("if (n > 1)", "if (length > 1)")
    assert not Stepped.of(tmp_path, {"both.f90": text}).steps(branch_fission)


_INNER = "    if (up /= down) then\n{}    end if\n"
_STARTING = _INNER.format(_PACK.format(1) + _POST + _ISEND.format(1, "two"))
_ENDING = _INNER.format(_WAIT.format("one") + _USE + _WAIT.format("two"))


def test_a_branch_around_branches_is_split_behind_those_that_start(tmp_path: Path) -> None:
    assert _halves(tmp_path, _STARTING + _ENDING) == [
        ["Irecv(a"],
        ["Isend(out(1"],
        ["Wait(one", "Wait(two"],
    ]


@pytest.mark.parametrize(
    "body",
    [
        _WAIT.format("three") + _STARTING + _ENDING,
        _STARTING.replace("length = 0", "n = 9") + _ENDING,
    ],
    ids=["behind a wait", "changes what the condition reads"],
)
def test_branches_that_start_stay_in_theirs(body: str, tmp_path: Path) -> None:
    outside = f"  length = n\n{_ISEND.format(2, 'three')}"
    text = _UNIT.format(body=body, outside=outside).replace("(in) :: n,", "(inout) :: n,")
    stepped = Stepped.of(tmp_path, {"both.f90": text})
    stepped.applied(branch_fission)
    assert stepped.text("both.f90").count("if (n > 1)") == 1
