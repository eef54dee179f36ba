"""Whether two adjacent statements commute."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, b, c, n, comm, request)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: a(n), b(n), c(n)
  integer :: i, ierr, request
  {first}
  {second}
end subroutine unit
"""
_SEND = "call MPI_Isend(a, n, MPI_REAL8, 1, 5, comm, request, ierr)"
_RECEIVE = _SEND.replace("Isend", "Irecv")
_WAIT = "call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)"


@pytest.mark.parametrize(
    ("first", "second", "commute"),
    [
        ("a(1) = 1", "b(1) = 2", True),
        ("a(1) = 1", "a(2) = 2", True),
        ("a(1) = 1", "a(1) = 2", False),
        ("a(1) = b(1)", "c(1) = b(1)", True),
        ("a(1) = b(1)", "b(1) = c(1)", False),
        ("a = 1", "b(n) = a(n)", False),
        (_SEND, "b = 1", True),
        (_SEND, "b = a", True),
        (_SEND, "a(n) = 1", False),
        (_RECEIVE, "b(1) = a(1)", False),
        ("b = 1", _WAIT, False),
        (_SEND, _WAIT, False),
        ("print *, 1", "print *, 2", False),
        ("a(1) = 1", "stop", False),
    ],
)
def test_pairs(first: str, second: str, commute: bool, tmp_path: Path) -> None:
    text = _UNIT.format(first=first, second=second)
    (facts,) = Stepped.of(tmp_path, {"a.f90": text}).facts()
    order = Independence(facts, Messages(facts))
    one, other = facts.unit.body
    assert (order.why_not(one, other) is None) is commute
