"""Nests that fill the blocks of MPI_ALLTOALLV run by run: by flat subscripts, or with a position
that begins at the displacement of each block."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.tiling.plan import Plan
from asphalt.unparse.expr_text import expr_text
from support.judging import program, site

_LISTS = """\
low = [(7*p/np + 1, p=0,np-1)]
high = [(7*(p + 1)/np, p=0,np-1)]
counts = (high - low + 1)*n*nz
at = 0
do p = 0, np - 1
  first(p) = at
  other(p) = at
  at = at + counts(p)
end do
rcounts = (high(me) - low(me) + 1)*n*nz
rfirst = [(p*rcounts(0), p=0,np-1)]
"""
_CALL = """\
call MPI_Alltoallv(s, counts, first, MPI_DOUBLE_PRECISION, r, rcounts, rfirst, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""
FLAT = """\
do z = 1, nz
  do p = 0, np - 1
    do j = 1, n
      do i = low(p), high(p)
        s(first(p) + 1 + (i - low(p)) + (high(p) - low(p) + 1)*(j - 1 + n*(z - 1))) = dble(i*z)
      end do
    end do
  end do
end do
"""
RUNNING = """\
do p = 0, np - 1
  at = first(p) + 1
  do z = 1, nz
    do j = 1, n
      do i = low(p), high(p)
        s(at) = sqrt(dble(i*z))
        at = at + 1
      end do
    end do
  end do
end do
"""


def _text(nest: str, after: str = "") -> str:
    lists = "low, high, counts, first, other, rcounts, rfirst"
    integers = f"integer, allocatable, dimension(:) :: {lists}\n"
    return program(
        arrays=f"real(8), allocatable :: s(:), r(:)\n{integers}",
        declare="integer :: j, at\n",
        allocate="".join(f"allocate({name}(0:np-1))\n" for name in lists.split(", "))
        + "allocate(s(7*n*nz), r(100*np))\n",
        before=_LISTS
        + "rcounts = (high(me) - low(me) + 1)*n*nz\nrfirst = [(p*rcounts(0), p=0,np-1)]\n",
        nest=nest,
        call=_CALL,
        after=after,
    )


@pytest.mark.parametrize(
    ("nest", "along", "unit"),
    [
        (FLAT, "z", "(high(asphalt_peer) + 1 - low(asphalt_peer))*n"),
        (FLAT.replace("(j - 1 + n*(z - 1))", "(z - 1 + nz*(j - 1))"), "j", None),
        (FLAT.replace("i = low(p), high(p)", "i = 0, high(p) - low(p)")
             .replace("(i - low(p))", "i"), "z", None),
        (RUNNING, "z", None),
        (RUNNING.replace("first(p) + 1", "first(p)")
                .replace("s(at)", "s(at + 1)"), "z", None),
    ],
)  # fmt: skip
def test_runs_of_blocks_are_planes(nest: str, along: str, unit: str | None, tmp_path: Path) -> None:
    judged = site(tmp_path, _text(nest)).judgement
    assert isinstance(judged, Plan), judged
    assert judged.producer.packing.variable == along
    assert judged.layout.packed is not None
    assert unit is None or expr_text(judged.layout.packed.unit) == unit


@pytest.mark.parametrize(
    ("nest", "code"),
    [
        (FLAT.replace("j = 1, n", "j = 1, n + 1"), "ASP402"),  # into the next plane
        (FLAT.replace("high(p)\n", "high(p) + 1\n"), "ASP402"),
        (FLAT.replace("+ 1 + (i", "+ 2 + (i"), "ASP402"),
        (FLAT.replace("s(first(p)", "s(other(p)"), "ASP402"),
        (FLAT.replace("s(first(p)", "s(first(np - 1 - p)"), "ASP402"),
        (FLAT.replace("(z - 1)", "(nz - z)"), "ASP402"),  # the last run first
        (FLAT.replace("(z - 1)", "(z - 1)*z"), "ASP402"),
        (FLAT.replace("z = 1, nz", "z = 2, nz"), "ASP402"),  # the first run is left out
        (FLAT.replace("    do j", "    s(1) = z\n    do j"), "ASP402"),
        (RUNNING.replace("first(p) + 1", "other(p) + 1"), "ASP402"),
        (RUNNING.replace("first(p) + 1", "first(p) + 2"), "ASP402"),
        (RUNNING.replace("    do j", "    at = 1\n    do j"), "ASP402"),
        (RUNNING.replace("do j = 1, n", "do j = 1, z"), "ASP402"),  # runs of other lengths
        (RUNNING.replace("sqrt(dble(i*z))", "s(max(1, at - 1)) + 1"), "ASP402"),
    ],
)
def test_other_elements_are_not(nest: str, code: str, tmp_path: Path) -> None:
    report = site(tmp_path, _text(nest)).report
    assert (report.verdict, report.code) == ("refused", code)


def test_a_position_that_is_read_later_keeps_its_value(tmp_path: Path) -> None:
    report = site(tmp_path, _text(RUNNING, after="print *, at\n")).report
    assert report.verdict == "refused"


def test_a_copy_alone_is_not_worth_it(tmp_path: Path) -> None:
    nest = RUNNING.replace("sqrt(dble(i*z))", "r(i)")
    assert site(tmp_path, _text(nest)).report.code == "ASP105"
