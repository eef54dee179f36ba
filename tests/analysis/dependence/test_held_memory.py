"""A send whose request is freed is complete when a message of its receiver says so (MPI-4.0 section
3.7.3): what overwrites its buffer, and what acknowledges it, keep their order with the messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.commutation import Independence
from support.stepping import Stepped

_TEXT = """\
subroutine send(s, n, ack)
  use mpi
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: ack
  real(8), intent(inout) :: s(n)
  real(8) :: own(n)
  integer :: q, ierr
  {start}
  {end}
  call MPI_Recv(ack, 1, MPI_INTEGER, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  {change}
end subroutine send
subroutine answer(r, n, ack)
  use mpi
  implicit none
  integer, intent(in) :: n, ack
  real(8), intent(inout) :: r(n)
  integer :: q, ierr
  call MPI_Irecv(r, n, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, q, ierr)
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
  call MPI_Send(ack, 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, ierr)
end subroutine answer
subroutine post(b, n, q)
  use mpi
  integer, intent(in) :: n
  integer, intent(inout) :: q
  real(8), intent(in) :: b(n)
  integer :: ierr
  call MPI_Isend(b, n, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, q, ierr)
end subroutine post
"""
_START = "call MPI_{}(s, n, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, q, ierr)"
_FREE = "call MPI_Request_free(q, ierr)"
_WAIT = "call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)"


def _orders(
    folder: Path, start: str, end: str, change: str, rest: bool = True
) -> tuple[str | None, str | None]:
    """Why the change cannot move before the receive, and the answer before its wait."""
    text = _TEXT.format(start=start, end=end, change=change)
    text = text if rest else text.partition("subroutine post")[0]
    found = {one.unit.name: one for one in Stepped.of(folder, {"a.f90": text}).facts()}
    sends, answers = (Independence.of(found[name]) for name in ("send", "answer"))
    *_, receive, changes = found["send"].unit.body
    return sends.why_not(receive, changes), answers.why_not(*found["answer"].unit.body[-2:])


@pytest.mark.parametrize("start", [_START.format("Isend"), "call post(s, n, q)"])
def test_a_freed_send_may_read_its_buffer_until_a_message_comes(start: str, tmp_path: Path) -> None:
    change, answer = _orders(tmp_path, start, _FREE, "s = s + 1")
    assert "a send whose request is freed may read it" in (change or "")
    assert "freed is complete" in (answer or "")


def test_what_is_passed_to_no_send_may_change(tmp_path: Path) -> None:
    change, _ = _orders(tmp_path, _START.format("Isend"), _FREE, "own = 1")
    assert change is None


def test_a_send_that_is_waited_for_holds_nothing(tmp_path: Path) -> None:
    assert _orders(tmp_path, _START.format("Isend"), _WAIT, "s = s + 1") == (None, None)


def test_inactive_requests_are_freed_without_consequences(tmp_path: Path) -> None:
    start = _START.format("Send_init")
    assert _orders(tmp_path, start, _FREE, "s = s + 1", rest=False) == (None, None)
