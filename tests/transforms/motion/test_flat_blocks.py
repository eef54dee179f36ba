"""Messages into one block of a flat array, past loops over other blocks of it.

``nb*q + j`` is a subscript ``(j, q)`` only if ``j`` is within the block, and the block has an
element: where ``nb`` may be 0, all blocks begin with one element.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi_run import MPICH, OPENMPI, installed
from support.optimised import optimised_and_run

_PROGRAM = """\
module blocks
  use mpi
  implicit none
contains
  subroutine exchange(a, c, b, nb, k, other)
    integer, intent(in) :: nb, k, other
    real(8), intent(inout) :: a(1000), c(0:1000), b
    integer :: q, j, ierr
{before}
    call MPI_Sendrecv(b, 1, MPI_DOUBLE_PRECISION, other, 1, c(nb*k + 1), 1, &
                      MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do q = 0, k - 1
{loop}
    end do
  end subroutine
end module
program main
  use blocks
  implicit none
  integer :: ierr, me, np, i, nb, k
  real(8) :: a(1000), c(0:1000), b
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = 0
  c = [(1d0*i, i = 0, 1000)]
  b = 100*me + 7
  nb = {nb} + command_argument_count()
  k = 8 + command_argument_count()
  call exchange(a, c, b, nb, k, me)
  print *, me, sum(a), sum(c)
  call MPI_Finalize(ierr)
end program
"""
_FIRST = "      a(q+1) = a(q+1) + sin(c(nb*q + 1))"
_ALL = "      do j = 1, nb{}\n        a(j) = a(j) + sin(c(nb*q + j))\n      end do"
_POSITIVE = "    if (nb < 1) return"
_MPIS = installed(OPENMPI, MPICH)


def _overlaps(folder: Path, loop: str, nb: int, before: str = "", declared: str = "nb, ") -> bool:
    """Whether the loop stands between the start of the receive and its completion."""
    program = _PROGRAM.format(loop=loop, nb=nb, before=before)
    text = optimised_and_run(folder, program, "exchange", *_MPIS)
    lines = [line.strip() for line in text[: text.index("end module")].splitlines()]
    waits = [n for n, line in enumerate(lines) if line.startswith("call asphalt_wait")]
    (wait,) = (n for n in waits if "c(nb*k+1)" in lines[n])
    return lines.index("do q = 0, k - 1") < wait


@pytest.mark.parametrize("before", ["", _POSITIVE])
def test_other_blocks_are_read_while_the_message_is_under_way(tmp_path: Path, before: str) -> None:
    assert _overlaps(tmp_path, _ALL.format(""), 12, before)


@pytest.mark.parametrize(
    ("loop", "nb", "before"),
    [
        (_FIRST, 0, ""),  # all blocks are one element
        (_FIRST, 0, "    if (nb < 0) return"),
        (_FIRST.replace("nb*q + 1", "nb*(k-1-q) + 1"), 0, ""),
        (_ALL.format(" + 1"), 12, _POSITIVE),  # the range is not within the block
    ],
)
def test_what_may_be_the_block_is_read_behind_the_message(
    tmp_path: Path, loop: str, nb: int, before: str
) -> None:
    assert not _overlaps(tmp_path, loop, nb, before)
