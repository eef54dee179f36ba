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


_FIELDS = """\
module fields
  implicit none
  integer :: n
  real(8), allocatable :: u(:), v(:), w(:)
end module fields
"""
_TWO_FIELDS = """\
subroutine step(given, comm)
  use mpi
  use fields
  implicit none
  integer, intent(in) :: comm
  integer, intent(inout) :: given
  integer :: i, ierr, requests(2)
  call MPI_Irecv(u(n + 1), 1, MPI_REAL8, 1, 5, comm, requests(1), ierr)
  call MPI_Irecv(v(n + 1), 1, MPI_REAL8, 1, 6, comm, requests(2), ierr)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
  call MPI_Wait({second}, MPI_STATUS_IGNORE, ierr)
  do i = 2, n - 1
    w(i) = u(i - 1) + u(i + 1) + v(i - 1) + v(i + 1)
  end do
end subroutine step
"""


@pytest.mark.parametrize(
    ("second", "commutes"),
    [
        ("requests(2)", True),
        ("given", False),  # the caller may have started a receive of n: u(n + 1) is another element
    ],
)
def test_a_wait_passes_another_one_and_a_nest(second: str, commutes: bool, tmp_path: Path) -> None:
    texts = {"fields.f90": _FIELDS, "step.f90": _TWO_FIELDS.format(second=second)}
    *_, facts = Stepped.of(tmp_path, texts).facts()
    *_, wait, _, nest = facts.unit.body
    assert (Independence.of(facts).why_not(wait, nest) is None) is commutes
