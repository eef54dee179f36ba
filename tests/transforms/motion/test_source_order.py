"""Neighbouring starts have the order of the source, as far as they commute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.transforms.motion.source_order import in_source_order
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

_UNIT = """\
subroutine halo(u, m, up, down)
  use mpi
  use asphalt_core, only: asphalt_irecv
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, intent(in) :: m, up, down
  integer, intent(inout) :: u(0:m+1)
  integer, parameter :: n = 10
  integer :: v(0:n+1), requests(4), asphalt_request_1, asphalt_request_2, ierr, i
{checked}  v = 0
{body}  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  u(1:m) = 2*v(0)
end subroutine halo
"""
_CHECKED = "  integer(kind=merge(kind(0), -1, n > 0)), parameter :: asphalt_checked_1 = 0\n"


def _start(name: str, buffer: str, partner: str, tag: int, number: object) -> str:
    return (
        f"  call MPI_{name}({buffer}, 1, MPI_INTEGER, {partner}, {tag}, MPI_COMM_WORLD, "
        f"requests({number}), ierr)\n"
    )


_LOW = "  ! both ghost cells\n" + _start("Irecv", "v(0)", "down", 1, 1)
_HIGH = _start("Irecv", "v(n)", "up", 2, 2)
_LAST = _start("Isend", "u(m)", "up", 1, 3)
_FIRST = _start("Isend", "u(1)", "down", 2, 4)
_SECOND = _start("Isend", "u(1)", "up", 1, 4)  # to the rank and with the tag of _LAST
_OVER = _start("Irecv", "v(0)", "up", 2, 2)  # into the element of _LOW
_ASPHALT = [
    f"  call asphalt_irecv(v({n}), 1, MPI_INTEGER, {partner}, {n}, MPI_COMM_WORLD, "
    f"asphalt_request_{n})\n"
    for n, partner in ((1, "down"), (2, "up"))
]
_WAITS = "".join(f"  call asphalt_wait(asphalt_request_{n}, v({n}))\n" for n in (1, 2))


def _made(folder: Path, given: str, body: str, checked: str = "") -> str:
    """The statements of a unit after the form; ``given``: those that the user wrote."""
    before = Stepped.of(folder / "given", {"a.f90": _UNIT.format(body=given, checked="")})
    stepped = Stepped.of(folder / "new", {"a.f90": _UNIT.format(body=body, checked=checked)})
    (facts,) = replace(stepped, any_sizes=True).facts()
    unit = in_source_order(facts, before.facts()[0].unit)
    text = unparse(replace_unit(stepped.tree.file(facts.located.path), facts.unit, unit))
    return text.partition("  v = 0\n")[2].partition("  call MPI_Waitall")[0]


def test_starts_are_in_the_order_of_the_source(tmp_path: Path) -> None:
    given = _LOW + _HIGH + "  v(3) = 1\n" + _LAST + _FIRST
    made = _made(tmp_path, given, _FIRST + _LAST + _HIGH + _LOW + "  v(3) = 1\n", _CHECKED)
    assert made == _LOW + _HIGH + _LAST + _FIRST + "  v(3) = 1\n"


def test_starts_in_constructs_are_in_this_order(tmp_path: Path) -> None:
    arms = [f"  if ({p} >= 0) then\n{text}  end if\n" for p, text in (("up", _HIGH), ("m", _LAST))]
    loop = "  do i = 1, 2\n{}  end do\n"
    given = loop.format(arms[0] + arms[1] + _FIRST)
    assert _made(tmp_path, given, loop.format(_FIRST + arms[1] + arms[0])) == given


def test_inlined_starts_are_in_the_order_of_their_requests(tmp_path: Path) -> None:
    assert _made(tmp_path, "", _FIRST + _LAST + _LOW) == _LOW + _LAST + _FIRST


def test_starts_of_the_runtime_are_in_the_order_of_their_requests(tmp_path: Path) -> None:
    low, high = _ASPHALT
    assert _made(tmp_path, "", high + low + _WAITS) == low + high + _WAITS


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (_LAST + _SECOND, _SECOND + _LAST),
        (_LOW + _OVER, _OVER + _LOW),
        (_LOW + _HIGH, _HIGH + _LOW),  # one element unless n > 0, of which there is no check
        (_LAST + _FIRST, _FIRST + "  v(3) = 1\n" + _LAST),
        (_LAST + _FIRST + _LAST, _FIRST + _LAST.replace("(3)", "(i)")),  # one of two
        ("", _FIRST + _start("Isend", "u(m)", "up", 1, "i")),
    ],
    ids=["envelope", "element", "size", "between", "twice", "variable"],
)
def test_the_order_stays(tmp_path: Path, given: str, body: str) -> None:
    assert _made(tmp_path, given, body) == body
