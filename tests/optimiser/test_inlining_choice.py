"""A procedure that saves as much by itself as where it is inlined is not inlined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.outcome import LESS_SAVED
from asphalt.optimiser.preparation import Search

_PROGRAM = """\
module halo
  use mpi
  implicit none
  integer, parameter :: n = 20000
contains
  subroutine exchange(a, b, c, left, right)
    integer, intent(in) :: left, right
    real(8), intent(inout) :: a(n), b(n), c(n)
    integer :: i, ierr, status(MPI_STATUS_SIZE)

    call MPI_Sendrecv(b, n, MPI_DOUBLE_PRECISION, right, 1, a, n, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, status, ierr)
{inside}    c = c + a
  end subroutine exchange
end module halo

program main
  use mpi
  use halo, only: exchange, n
  implicit none
  real(8) :: a(n), b(n), c(n), d(n)
  integer :: me, np, left, right, i, step, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = 0; b = me; c = me; d = 1
  do step = 1, 4
    call exchange(a, b, c, left, right)
{beside}    b = b + c
  end do
  print '(i0, 2z17)', me, sum(c), sum(d)
  call MPI_Finalize(ierr)
end program main
"""
_INSIDE = "    do i = 1, n\n      c(i) = sqrt(c(i) + i)\n    end do\n"
_BESIDE = "    do i = 1, n\n      d(i) = sqrt(d(i) + i)\n    end do\n"


def _main(folder: Path, inside: str = "", beside: str = "") -> Optimised:
    path = folder / "main.f90"
    path.write_text(_PROGRAM.format(inside=inside, beside=beside))
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (found,) = (u for u in tree.units_of(str(path)) if u.unit.kind == "program")
    return optimise(tree, found)


def _inlined(found: Optimised) -> bool:
    return "inline" in {step.transformation for step in found.steps}


def test_it_is_inlined_where_the_work_is_in_the_caller(tmp_path: Path) -> None:
    assert _inlined(_main(tmp_path, beside=_BESIDE))


def test_it_stays_where_its_own_work_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _main(tmp_path, inside=_INSIDE)
    assert not _inlined(found)
    (told,) = (one for one in found.dropped if one.why.startswith(LESS_SAVED))
    assert told.transformation == "inline"
    assert re.search(r"saves [0-9.]+ \w+, and saves [0-9.]+ \w+ without it, on ib-", told.why)
    # what is saved of one text is no price of another
    assert (told.before, told.tried) == ({}, {})
    # the program is one where nothing else keeps it
    nothing = (0.0, 0.0)
    monkeypatch.setattr(Search, "_saved_apart", lambda driver: nothing)
    assert _inlined(_main(tmp_path, inside=_INSIDE))
