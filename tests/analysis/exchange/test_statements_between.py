"""Statements between the computation and the packing are executed before both where they may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.judging import SETTINGS, program, site, transformed

_ARRAYS = "real(8), allocatable :: s(:,:,:), r(:,:,:), w(:,:,:)\nreal(8) :: t(2), u\n"
_ALLOCATE = "allocate(s(n,nz,np), r(n,nz,np), w(n,nz,np))\nt = 0\n"
_COMPUTE = "do z = 1, nz\n  w(:,z,:) = sqrt(dble(z))\nend do\n"
_PACK = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i,z,p) = w(i,z,p)
    end do
  end do
end do
"""
_AFTER = "print *, sum(w), sum(s)\n"
_WATCH = """\
subroutine watch(x)
  real(8), intent(inout) :: x
  x = x - MPI_Wtime()
end subroutine watch
subroutine change(x)
  real(8), intent(inout) :: x(n,nz,np)
  x(1,1,1) = 0
end subroutine change
"""
_SETTINGS = replace(SETTINGS, assume=frozenset({"timers"}))


def text(between: str) -> str:
    nest = f"{_COMPUTE}{between}{_PACK}"
    return program(arrays=_ARRAYS, allocate=_ALLOCATE, nest=nest, after=_AFTER, contained=_WATCH)


@pytest.mark.parametrize(
    "between",
    [
        "t(1) = t(1) - MPI_Wtime()\n",
        "call watch(t(2))\n",
        "if (me > 0) call watch(t(2))\n",
        "if (me > 0) then\n  t(1) = t(1) - MPI_Wtime()\nelse\n  call watch(t(2))\nend if\n",
        "t(2) = 2*np\n",
    ],
)
def test_they_go_first(between: str, tmp_path: Path) -> None:
    source = text(between)
    report = site(tmp_path, source, settings=_SETTINGS).report
    assert report.verdict in ("proved", "assumed")
    made = transformed(tmp_path, source, settings=_SETTINGS)
    assert made.count(between.splitlines()[0]) == 1
    assert made.index(between.splitlines()[0]) < made.index("do while (asphalt_x%next_tile")
    loop = made[made.index("do while (asphalt_x%next_tile") :]
    assert "w(:,z,:)" in loop
    assert "s(i,z,p) = w(i,z,p)" in loop


@pytest.mark.parametrize(
    "between",
    [
        "t(1) = w(1,nz,1)\n",  # it reads what the nest computes
        "call change(w)\n",  # it changes what is packed
        "call change(s)\n",  # or the buffer itself
        "s(1,1,1) = 0\n",
        "print *, t(1)\n",  # what is printed
        "if (me > 0) goto 10\n10 continue\n",
        "call MPI_Barrier(MPI_COMM_WORLD, ierr)\n",
        "!$omp parallel\nt(1) = 2\n!$omp end parallel\n",
    ],
)
def test_they_stay(between: str, tmp_path: Path) -> None:
    source = text(between)
    assert site(tmp_path, source, settings=_SETTINGS).verdict == "refused"
    assert transformed(tmp_path, source, settings=_SETTINGS) == source


def test_a_reading_between_needs_the_assumption(tmp_path: Path) -> None:
    report = site(tmp_path, text("t(1) = t(1) - MPI_Wtime()\n")).report
    assert (report.verdict, report.assumptions, report.accepted) == ("assumed", ("timers",), ())


def test_a_reading_that_decides_stays(tmp_path: Path) -> None:
    decides = "if (t(1) > 9) u = 2\n  print *, u"
    source = text("t(1) = MPI_Wtime()\n").replace(_AFTER.strip(), decides)
    assert site(tmp_path, source, settings=_SETTINGS).verdict == "refused"
