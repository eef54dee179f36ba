"""Components of the structure to which a pointer points, as buffers of transfers.

Whichever structure that is, the array has storage of its own.  But other pointers may lead to it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, OPENMPI, installed
from support.optimised import optimised_and_run

_PROGRAM = """\
module kinds
  implicit none
  type scalar
    real(8), allocatable :: val(:)
    real(8), pointer :: there(:)
    real(8) :: f
    real(8) :: fixed(100)
  end type
  type holder
    type(scalar), pointer :: s
  end type
contains
  subroutine reset(x)
    type(scalar), intent(inout) :: x
    x%val(1) = 5
  end subroutine
end module
program p
  use mpi
  use kinds
  implicit none
  type(scalar), target, allocatable :: scalars(:)
  type(scalar), pointer :: s, t
  type(holder) :: h
  integer :: ierr, me, np, i, up, down
  real(8) :: a(100), b(100)
  real(8), allocatable :: other(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  up = mod(me+1, np)
  down = mod(me-1+np, np)
  allocate(scalars(2), other(100))
  do i = 1, 2
    allocate(scalars(i)%val(100), scalars(i)%there(100))
    scalars(i)%val = me + i
    scalars(i)%f = me
    scalars(i)%fixed = me*i
    scalars(i)%there = 0
  end do
  a = 0
  b = me
  other = 0
  s => scalars(1)
  t => scalars(1)
  h%s => scalars(1)
{body}
  print *, me, sum(a), sum(b), sum(scalars(1)%val), sum(scalars(2)%val), s%f
  print *, me, sum(s%fixed), sum(s%there), allocated(other)
  call MPI_Finalize(ierr)
end program
"""
_SHIFT = """\
  call MPI_Sendrecv({0}, {2}, MPI_DOUBLE_PRECISION, up, 1, {1}, {2}, MPI_DOUBLE_PRECISION, &
                    down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_MPIS = installed(OPENMPI, MPICH)


def _loop(statement: str) -> str:
    return f"  do i = 1, 100\n    {statement}\n  end do\n"


def _into(buffer: str, count: int = 100) -> str:
    return _SHIFT.format("b", buffer, count)


def _from(buffer: str) -> str:
    return _SHIFT.format(buffer, "a", 100)


_WORK = _loop("a(i) = a(i) + sin(1d0*i)")


def _waits(folder: Path, body: str, *, run: bool = True) -> list[str]:
    """The loops, other statements and waits behind the starts, in their order."""
    mpis = _MPIS if run else ()
    text = optimised_and_run(folder, _PROGRAM.format(body=body), "p", *mpis)
    behind = text[text.index("call asphalt_isend(") :]
    return [line.strip() for line in behind[: behind.index("print *")].splitlines()]


def _is_before(lines: list[str], buffer: str, statement: str) -> bool:
    """Whether the wait for a buffer stands before a statement."""
    wait = next(n for n, line in enumerate(lines) if line.endswith(f", {buffer})"))
    return lines[wait].startswith("call asphalt_wait(") and wait < lines.index(statement)


@pytest.mark.parametrize("buffer", ["s%val", "h%s%val", "s%fixed"])
def test_the_message_is_under_way_during_the_work(tmp_path: Path, buffer: str) -> None:
    lines = _waits(tmp_path, _into(buffer) + _WORK)
    assert not _is_before(lines, buffer, "do i = 1, 100")


def test_so_is_that_of_a_scalar_component(tmp_path: Path) -> None:
    lines = _waits(tmp_path, _into("s%f", 1) + _WORK)
    assert not _is_before(lines, "s%f", "do i = 1, 100")


@pytest.mark.parametrize(
    ("use", "first"),
    [
        (_loop("b(i) = 2*t%val(i)"), "b(i) = 2*t%val(i)"),
        (_loop("b(i) = 2*scalars(1)%val(i)"), "b(i) = 2*scalars(1)%val(i)"),
        (_loop("b(i) = 2*scalars(i - (i-1))%val(i)"), "b(i) = 2*scalars(i - (i-1))%val(i)"),
        ("  t%val = [(1d0*i, i = 1, 100)]\n", "t%val = [(1d0*i, i = 1, 100)]"),
        ("  call move_alloc(other, t%val)\n", "call move_alloc(other, t%val)"),
        ("  scalars(1) = scalars(2)\n", "scalars(1) = scalars(2)"),
        ("  call reset(t)\n", "call reset(t)"),
        ("  call reset(scalars(1))\n", "call reset(scalars(1))"),
        ("  deallocate(t%val)\n  allocate(t%val(100), source = 2d0)\n", "deallocate(t%val)"),
    ],
)
def test_what_another_name_leads_to_is_received_before(
    tmp_path: Path, use: str, first: str
) -> None:
    lines = _waits(tmp_path, _into("s%val") + _WORK + use)
    assert _is_before(lines, "s%val", first)


@pytest.mark.parametrize(
    "change", [_loop("t%val(i) = sin(1d0*i)"), _loop("scalars(1)%val(i) = sin(1d0*i)")]
)
def test_what_another_name_leads_to_is_sent_before(tmp_path: Path, change: str) -> None:
    lines = _waits(tmp_path, _from("s%val") + change)
    assert _is_before(lines, "s%val", "do i = 1, 100")


@pytest.mark.parametrize(
    ("transfer", "code"),
    [
        (_into("s%there"), "ASP021"),
        (_into("s%val(::2)", 50), "ASP021"),
        (_into("s%val") + "  s => scalars(2)\n", None),
    ],
)
def test_what_stays(tmp_path: Path, transfer: str, code: str | None) -> None:
    """A pointer component may have gaps; the pointer points to another structure."""
    place = tmp_path / "main.f90"
    place.write_text(_PROGRAM.format(body=transfer + _WORK))
    tree = load_tree([place], Settings(cache=False, jobs=1))
    (unit,) = (one for one in tree.units_of(str(place)) if one.unit.name == "p")
    found = optimise(tree, unit, Options(TRANSFERS))
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ([code] if code else [])
