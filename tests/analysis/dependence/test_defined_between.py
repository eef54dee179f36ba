"""What the statements between two others of a unit may define."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.defined_between import DefinedBetween
from asphalt.analysis.messages.messages import Messages
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, b, c, d, n, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: a(n), b(n), c(n), d
  integer :: i, ierr, request
  call MPI_Irecv(a, n, MPI_REAL8, 1, 5, comm, request, ierr)
  b(1) = 1
  do i = 1, n
    c(i) = 2
  end do
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  d = 3
end subroutine unit
"""


@pytest.mark.parametrize(
    ("first", "second", "objects"),
    [
        (1, 2, set()),
        (1, 3, {"c", "i"}),
        (3, 1, {"c", "i"}),
        (2, 2, set()),
        # a wait may define what the receive was started for
        (2, 4, {"a", "request", "ierr"}),
        (0, 4, {"a", "b", "c", "i", "request", "ierr"}),
    ],
)
def test_between(first: int, second: int, objects: set[str], tmp_path: Path) -> None:
    (facts,) = Stepped.of(tmp_path, {"a.f90": _UNIT}).facts()
    between = DefinedBetween(facts, Messages(facts))
    body = facts.unit.body
    for _ in range(2):  # what is known is asked again
        found = between.objects(body[first], body[second])
        assert found == objects


def test_the_lines_of_a_unit_are_in_order(tmp_path: Path) -> None:
    (facts,) = Stepped.of(tmp_path, {"a.f90": _UNIT}).facts()
    (other,) = Stepped.of(tmp_path / "other", {"a.f90": _UNIT}).facts()
    between = DefinedBetween(facts, Messages(facts))
    assert [between.place(node) for node in facts.unit.body] == [0, 1, 2, 5, 6]
    assert between.place(other.unit.body[0]) is None
    # all of the unit may be between statements that are not its own
    assert {"b", "c", "d"} <= between.objects(other.unit.body[0], other.unit.body[1])


_MODULE = """\
module sizes
  implicit none
  integer :: n, handle
  real(8), allocatable :: u(:), v(:)
end module sizes
"""
_WAITS = """\
subroutine unit(given, comm)
  use mpi
  use sizes
  implicit none
  integer, intent(in) :: comm
  integer, intent(inout) :: given
  integer :: ierr, request, other
{more}  call MPI_Irecv(u, n, MPI_REAL8, 1, 5, comm, request, ierr)
  call MPI_Irecv(v, n, MPI_REAL8, 2, 5, comm, other, ierr)
  call MPI_Wait({request}, MPI_STATUS_IGNORE, ierr)
  v(n) = 3
end subroutine unit
"""
_WINDOW = """\
  real(8) :: a(2)
  integer :: window
  call MPI_Win_create(a, 16_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, comm, window, ierr)
"""


@pytest.mark.parametrize(
    ("request_", "more", "objects"),
    [
        ("request", "", {"sizes::u"}),
        ("other", "", {"sizes::v"}),
        # what the caller, or another procedure, has started may be a receive of anything
        ("given", "", {"sizes::n", "sizes::u", "sizes::v"}),
        ("handle", "", {"sizes::n", "sizes::u", "sizes::v"}),
        # other ranks may put something into a window before they send the message
        ("request", _WINDOW, {"sizes::n", "sizes::u", "sizes::v"}),
    ],
)
def test_a_wait_defines_what_its_operations_receive(
    request_: str, more: str, objects: set[str], tmp_path: Path
) -> None:
    unit = _WAITS.format(request=request_, more=more)
    *_, facts = Stepped.of(tmp_path, {"sizes.f90": _MODULE, "unit.f90": unit}).facts()
    *_, start, _, last = facts.unit.body
    found = DefinedBetween(facts, Messages(facts)).objects(start, last)
    assert {name for name in found if name.startswith("sizes::")} - {"sizes::handle"} == objects
    assert "ierr" in found
