"""Requests of loops that go once around a ring of ranks are all requests, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from support.stepping import Stepped

_UNIT = """
module ring
  implicit none
  integer :: np, me
end module ring
subroutine unit(b, c, n, comm, kinds)
  use mpi
  use ring
  implicit none
  integer, intent(in) :: n, comm, kinds(0:n)
  real, intent(inout) :: b(n), c(n,0:n)
  integer, allocatable :: r({bounds})
  integer :: i, p, ierr, k
  allocate (r({allocated}))
{before}  do i = {loop}
    p = {peer}
{inside}    call MPI_Irecv(c(1,p), 1, kinds(p), p, 1, comm, r({request}), ierr)
  end do
{between}  do i = {waits}
    call MPI_Wait(r({last}), MPI_STATUS_IGNORE, ierr)
  end do
end subroutine unit
"""
_GIVEN = {
    "bounds": ":", "allocated": "0:np-1", "loop": "0, np - 1", "peer": "modulo(me + i, np)",
    "waits": "0, np - 1", "before": "", "inside": "", "between": "", "request": "p", "last": "i",
}  # fmt: skip


def _matched(folder: Path, **parts: str) -> bool:
    text = _UNIT.format(**_GIVEN | parts)
    stepped = Stepped.of(folder, {"unit.f90": text})
    facts = next(facts for facts in stepped.facts() if facts.unit.name == "unit")
    messages = facts.once(Messages)
    start = next(leaf for leaf, call in messages.own_calls() if call.operation == "mpi_irecv")
    return bool(messages.completion(start))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"peer": "modulo(me - i, np)"},
        {"peer": "modulo(me + 3 - i, np)"},
        {"peer": "mod(me + i, np)"},  # no subscript is below 0
        {"peer": "mod(me - i + np, np)"},
        {"allocated": "np", "request": "p + 1", "waits": "1, np"},
        {"loop": "1, np"},
        {"loop": "np - 1, 0, -1"},
        {"request": "modulo(me + i, np)"},
        {"last": "modulo(me + i, np)"},
        {"waits": "1, np", "last": "modulo(me - i, np)"},
        {"between": "    b = b + 1\n"},
    ],
)
def test_all_requests_of_a_ring(parts: dict[str, str], tmp_path: Path) -> None:
    assert _matched(tmp_path, **parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"loop": "0, np"},  # one of them twice
        {"loop": "0, np", "waits": "0, np", "allocated": "0:np"},
        {"peer": "modulo(me + 2*i, np)"},
        {"peer": "modulo(me + i*i, np)"},
        {"peer": "modulo(me + i, n)"},
        {"peer": "modulo(me + kinds(i), np)"},
        {"peer": "mod(me + i, np)", "allocated": "-np:np-1"},  # it may be negative
        {"waits": "1, np - 1"},
        {"loop": "0, np - 1, 2"},
        {"inside": "    if (p == 2) me = me + 1\n"},
        {"inside": "    if (p == 2) p = 0\n"},
        {"between": "    np = np - 1\n"},
        {"between": "    call change\n"},
        {"last": "modulo(me + 2*i, np)"},
    ],
)
def test_what_goes_around_no_ring_is_not_all_requests(
    parts: dict[str, str], tmp_path: Path
) -> None:
    assert not _matched(tmp_path, **parts)
