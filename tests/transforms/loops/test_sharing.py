"""A nest in the window of one receive is shared with those behind it, in the order it had."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from asphalt.transforms.loops import sharing
from support.stepping import Stepped

_UNIT = """\
subroutine shared(u, after, a, b, n, m, below, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, below, comm
  real(8), intent(inout) :: u(0:n+1,0:m+1), after(n,m), a(n), b(n)
  integer :: i, j, ierr, one, two, three
  real(8) :: s
{declared}
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, below, 1, comm, one, ierr)
{nest}
  call MPI_Wait(one, MPI_STATUS_IGNORE, ierr)
{between}
  call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, below, 2, comm, two, ierr)
{inside}
  call MPI_Wait(two, MPI_STATUS_IGNORE, ierr)
{behind}
end subroutine shared
"""
_NEST = """\
  do j = 2, m - 1
    do i = 1, n
      after(i,j) = u(i,j)*0.5d0
    end do
  end do
"""
_LINE = "  do i = 1, n\n    after(i,1) = {}\n  end do\n"
_THIRD = """\
  call MPI_Irecv(u(1,0), n, MPI_DOUBLE_PRECISION, below, 3, comm, three, ierr)
  call MPI_Wait(three, MPI_STATUS_IGNORE, ierr)
"""


def _stepped(folder: Path, **parts: str) -> Stepped:
    given = dict.fromkeys(("declared", "between", "inside", "behind"), "") | {"nest": _NEST} | parts
    return Stepped.of(folder, {"shared.f90": _UNIT.format(**given)})


def _lines(stepped: Stepped) -> list[str]:
    return [line.strip() for line in stepped.text("shared.f90").splitlines()]


def test_half_of_a_nest_goes_into_the_next_window(tmp_path: Path) -> None:
    stepped = _stepped(tmp_path)
    (step,) = stepped.steps(sharing)
    assert step.does == "the nest of line 10 is shared by 2 windows"
    stepped.apply(sharing, *stepped.found(sharing)[0])  # type: ignore[arg-type]
    lines = _lines(stepped)
    places = [n for n, line in enumerate(lines) if re.match(r"(do j|call MPI_)", line)]
    assert [lines[n].split("(")[0] + lines[n][:0] for n in places] == [
        "call MPI_Irecv", "do j = 2, 1 + ", "call MPI_Wait", "call MPI_Irecv", "do j = 2 + ",
        "call MPI_Wait",
    ]  # fmt: skip
    assert "do j = 2, 1 + (m - 2)/2" in lines
    assert "do j = 2 + (m - 2)/2, m - 1" in lines
    assert lines.count("after(i,j) = u(i,j)*0.5d0") == 2
    assert not stepped.steps(sharing)  # both windows have work now


def test_three_windows_have_a_third_each(tmp_path: Path) -> None:
    stepped = _stepped(tmp_path, behind=_THIRD, nest=_NEST.replace("u(i,j)", "after(i,j)"))
    stepped.apply(sharing, *stepped.found(sharing)[0])  # type: ignore[arg-type]
    heads = [line for line in _lines(stepped) if line.startswith("do j")]
    assert heads == [
        "do j = 2, 1 + (m - 2)/3",
        "do j = 2 + (m - 2)/3, 1 + 2*((m - 2)/3)",
        "do j = 2 + 2*((m - 2)/3), m - 1",
    ]


@pytest.mark.parametrize("first", [-3, 1])
@pytest.mark.parametrize("number", [2, 3])
def test_the_parts_are_the_iterations_in_their_order(first: int, number: int) -> None:
    """As the bounds are written, with the division of Fortran, which truncates."""
    for length in range(-7, 23):
        each = abs(length) // number * (1 if length >= 0 else -1)
        last = first + length - 1
        cuts = [first - 1, *(first - 1 + part * each for part in range(1, number)), last]
        parts = [range(low + 1, high + 1) for low, high in itertools.pairwise(cuts)]
        assert list(itertools.chain(*parts)) == list(range(first, last + 1))
        if length >= 0:  # what the variable is behind the loops
            assert max(cuts[-2] + 1, last + 1) == last + 1


REFUSED = {
    "first message": {"nest": _NEST.replace("*0.5d0", "+ a(i)")},
    "writes what comes": {"nest": _NEST.replace("after(i,j) =", "b(i) =")},
    "a bound comes": {"between": "  ierr = 1\n", "nest": _NEST.replace("m - 1", "ierr")},
    "needed between": {"between": _LINE.format("after(i,2)")},
    "work in the next window": {"inside": _LINE.format("after(i,1) + 1").replace("1) =", "2) =")},
    "variable read behind": {"behind": "  after(1,1) = j\n"},
    "label": {"nest": "  do 10 j = 2, m\n10  after(1,j) = u(1,j)\n"},
    "name": {"nest": _NEST.replace("  do j", "  outer: do j", 1)[:-1] + " outer\n"},
    "step": {"nest": _NEST.replace("m - 1", "m - 1, 2")},
    "print": {"nest": _NEST.replace("    end do\n", "    end do\n    print *, j\n", 1)},
    "digits": {"nest": "  do j = 2, m - 1\n    after(1,j) = sin(u(1,j))\n  end do\n"},
    "long variable": {"nest": _NEST.replace(" j ", " jj ").replace(",j", ",jj"),
                      "declared": "  integer(8) :: jj\n"},
    "what an edge is": {"nest": _NEST.replace("m - 1", "min(3, m)")},
    "few iterations": {"nest": _NEST.replace("m - 1", "3")},
    "directive": {"nest": "  !$omp simd\n" + _NEST},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_nest_stays_whole(name: str, tmp_path: Path) -> None:
    assert not _stepped(tmp_path, **REFUSED[name]).steps(sharing)


def test_other_digits_are_accepted(tmp_path: Path) -> None:
    tree = _stepped(tmp_path, **REFUSED["digits"])
    tree.accepted = frozenset({"bits"})
    assert [step.assumed for step in tree.steps(sharing)] == [("bits",)]
    tree.applied(sharing)
    assert _lines(tree).count("! asphalt: assumed: bits") == 1


def test_a_sum_keeps_its_order(tmp_path: Path) -> None:
    """Iterations that need each other are no obstacle: they are executed one after the other."""
    nest = _NEST.replace("after(i,j) = u(i,j)*0.5d0", "after(i,j) = after(i,j-1) + u(i,j)")
    assert len(_stepped(tmp_path, nest=nest).steps(sharing)) == 1
