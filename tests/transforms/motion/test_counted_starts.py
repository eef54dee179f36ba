"""A count that a nest finds out is computed from its bounds, and the receive starts before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.transforms.motion import counted_starts
from support.mpi_run import OPENMPI, installed
from support.optimised import optimised_and_run
from support.stepping import Stepped

_PROGRAM = """\
module ring
  use mpi
  implicit none
  integer :: shared = 3
contains
  subroutine exchange(a, n, m, layers, left, right)
    integer, intent(in) :: n, m, left, right
    integer, intent(inout) :: layers
    real(8), intent(inout) :: a(n,0:m+1)
    real(8) :: s(n*(m+2)*4), r(n*(m+2)*4)
    integer :: i, j, k, l, ierr, request(2){more}
    s = 0
    r = 0
{before}    l = 0
{nest}{between}    call MPI_Irecv(r, {count}, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &
                   request(1), ierr)
    call MPI_Isend(s, l, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, request(2), ierr)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
    do i = 1, n
      a(i,0) = a(i,0) + r(i)
    end do
  end subroutine exchange
{other}end module ring
program main
  use ring
  implicit none
  integer, parameter :: n = 30
  integer :: me, np, ierr, layers
  real(8) :: a(n,0:n+1)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  layers = 2
  call exchange(a, n, n, layers, modulo(me - 1, np), modulo(me + 1, np))
  call exchange(a, n, 0, layers, modulo(me - 1, np), modulo(me + 1, np))
  layers = -1
  call exchange(a, n, n, layers, modulo(me - 1, np), modulo(me + 1, np))
  print '(i0, z17)', me, sum(a)
  call MPI_Finalize(ierr)
end program main
"""
_NEST = """\
    do k = 1, layers
      do j = 1, m
        do i = 1, n
          l = l + 1
          s(l) = sqrt(a(i,j)) + k
        end do
      end do
    end do
"""
_ONCE = _NEST.replace("          l = l + 1\n", "").replace(
    "        do i = 1", "        l = l + 1\n        do i = 1"
)


def _text(nest: str = _NEST, **parts: str) -> str:
    given = dict.fromkeys(("before", "between", "other", "more"), "") | {"count": "l"}
    return _PROGRAM.format(**given | {"nest": nest} | parts)


def _counts(folder: Path, text: str) -> list[str]:
    """The counts of the receive for which a nest need not run."""
    found = Stepped.of(folder, {"ring.f90": text})
    steps = found.steps(counted_starts)
    while (first := next(iter(found.steps(counted_starts)), None)) is not None:
        facts = next(f for f, one in found.found(counted_starts) if not hasattr(one, "code"))
        found.apply(counted_starts, facts, first)
    made = re.sub(r"&\n\s*", "", found.text("ring.f90"))
    counts = re.findall(r"Irecv\((?:r|shared), (.*), MPI_DOUBLE", made)
    return counts if steps else []


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, "max(0, layers)*max(0, m)*max(0, n)"),
        ({"nest": _ONCE, "count": "n*l"}, "n*(max(0, layers)*max(0, m))"),
        ({"nest": _ONCE.replace("1, m", "2, 5"), "count": "l"}, "4*max(0, layers)"),
        ({"nest": _NEST.replace("l + 1", "2 + l")}, "2*(max(0, layers)*max(0, m)*max(0, n))"),
        ({"nest": _NEST.replace("1, m", "0, m-1")}, "max(0, layers)*max(0, m)*max(0, n)"),
        ({"between": "    s(1) = 2\n"}, "max(0, layers)*max(0, m)*max(0, n)"),
    ],
)
def test_the_count_of_a_nest(parts: dict[str, str], count: str, tmp_path: Path) -> None:
    (found,) = _counts(tmp_path, _text(**parts))
    assert sorted(re.findall(r"max\(0, \w+\)|\w+", found)) == sorted(
        re.findall(r"max\(0, \w+\)|\w+", count)
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"nest": _NEST.replace("          l = l + 1", "          if (i > 2) l = l + 1")},
        {"nest": _NEST.replace("1, m", "1, k")},  # the rows of a triangle
        {"nest": _NEST.replace("1, m", "1, m, 2")},
        {"nest": _NEST.replace("          l = l", "          if (i > 5) exit\n          l = l")},
        {"nest": _NEST.replace("          l = l", "          if (i > 5) cycle\n          l = l")},
        {"nest": _NEST.replace("s(l) =", "l = l + 1\n          s(l) =")},
        {"nest": _NEST.replace("l + 1", "l + j")},
        {"nest": _NEST + "    layers = 4\n"},
        {"between": "    l = l + 1\n"},
        {"between": "    call change(layers)\n",
         "other": "  subroutine change(x)\n    integer, intent(inout) :: x\n    x = 1\n"
                  "  end subroutine change\n"},
        {"between": "    call MPI_Wait(request(1), MPI_STATUS_IGNORE, ierr)\n",
         "before": "    call MPI_Irecv(layers, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, &\n"
                   "                   request(1), ierr)\n"},
        {"nest": "!$omp parallel do private(l, i, j)\n" + _NEST},
        {"nest": _NEST.replace("          s(l)", "!$        l = l + 1\n          s(l)")},
        {"before": "    l = 5\n    if (left == right) goto 10\n", "between": "10  continue\n"},
        {"nest": _NEST.replace("          l = l", "          read (9, *, err=10)\n          l = l"),
         "between": "10  continue\n"},
        {"more": "\n    save :: l"},
        {"more": "\n    integer, volatile :: max", "nest": _NEST},
        {"nest": _NEST.replace("layers", "shared"), "between": "    call unseen(shared)\n"},
    ],
)  # fmt: skip
def test_a_count_that_is_another_one_stays(parts: dict[str, str], tmp_path: Path) -> None:
    assert _counts(tmp_path, _text(**parts)) == []


def test_the_receive_starts_before_the_nest_that_counts(tmp_path: Path) -> None:
    made = optimised_and_run(tmp_path, _text(), "exchange", *installed(OPENMPI))
    assert made.index("call MPI_Irecv") < made.index("do k = 1, layers") < made.index("MPI_Isend")
