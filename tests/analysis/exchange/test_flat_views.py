"""Nests in which one subscript of the send buffer runs through elements, planes and ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.plan import Plan
from support.judging import program, site, transformed

PLANES = """\
do z = 1, nz
  do p = 0, np - 1
    do i = 1, n
      s(n*nz*p + n*(z - 1) + i) = dble(i*z) + p
    end do
  end do
end do
"""
INNER = PLANES.replace("n*(z - 1) + i", "nz*(i - 1) + z")
ROWS = """\
do z = 1, nz*np
  do i = 1, n
    s(n*(z - 1) + i) = dble(i*z)
  end do
end do
"""
SECTIONS = """\
do z = 1, nz
  do p = 0, np - 1
    low = n*nz*p + n*(z - 1) + 1
    high = low + n - 1
    s(low:high) = dble(z) + p
  end do
end do
"""
COUNTED = """\
do z = 1, nz
  do p = 0, np - 1
    at = n*nz*p + n*(z - 1)
    do i = 1, n
      at = at + 1
      s(at) = dble(i*z) + p
    end do
  end do
end do
"""
WORK = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      work(i,p,z) = dble(i*z) + p
    end do
  end do
end do
"""
RUNNING = f"""\
{WORK}at = 0
do p = 1, np
  do z = 1, nz
    do i = 1, n
      at = at + 1
      s(at) = work(i,p,z)
    end do
  end do
end do
"""
OF_RANKS = RUNNING.replace("at = 0\ndo p = 1, np\n", "do p = 1, np\n  at = (p - 1)*n*nz\n")


def _text(nest: str, after: str = "", sizes: str = "n = 3, nz = 8") -> str:
    text = program(
        arrays="real(8), allocatable :: s(:), r(:), work(:,:,:)\n",
        declare="integer :: at, low, high\n",
        allocate="allocate(s(2*n*nz*np), r(n*nz*np), work(n,np,nz))\n",
        nest=nest,
        after=after,
    )
    return text.replace("n = 3, nz = 8", sizes)


@pytest.mark.parametrize(
    ("nest", "along", "pattern", "strided"),
    [
        (PLANES, "z", TileShape.EVERY_BLOCK, False),
        (
            PLANES.replace("n*nz*p + n*(z - 1)", "n*(z - 1 + nz*p)"),
            "z",
            TileShape.EVERY_BLOCK,
            False,
        ),
        (PLANES.replace("i = 1, n", "i = 2, n - 1"), "z", TileShape.EVERY_BLOCK, False),
        (PLANES.replace("p = 0, np - 1", "p = np - 1, 0, -1"), "z", TileShape.EVERY_BLOCK, False),
        (PLANES.replace("*p +", "*(np - 1 - p) +"), "z", TileShape.EVERY_BLOCK, False),
        (PLANES.replace("z = 1, nz", "z = 1, nz - 1"), "z", TileShape.EVERY_BLOCK, False),
        (INNER, "z", TileShape.EVERY_BLOCK, True),
        (ROWS, "z", TileShape.SLAB, False),
        (SECTIONS, "z", TileShape.EVERY_BLOCK, False),
        (COUNTED, "z", TileShape.EVERY_BLOCK, False),
        (RUNNING, "z", TileShape.EVERY_BLOCK, False),
        (OF_RANKS, "z", TileShape.EVERY_BLOCK, False),
    ],
)
def test_flat_subscripts_are_planes(
    nest: str, along: str, pattern: TileShape, strided: bool, tmp_path: Path
) -> None:
    judged = site(tmp_path, _text(nest)).judgement
    assert isinstance(judged, Plan), judged
    assert judged.producer.packing.variable == along
    assert judged.layout.pattern is pattern
    assert (judged.layout.strides is not None) is strided


@pytest.mark.parametrize(
    ("nest", "code"),
    [
        (PLANES.replace("i = 1, n", "i = 1, n + 1"), "ASP405"),  # into the next plane
        (PLANES.replace("i = 1, n", "i = 0, n - 1"), "ASP405"),
        (PLANES.replace("z = 1, nz", "z = 1, nz + 1"), "ASP405"),
        (PLANES.replace("do i", "s(1) = z\n    do i"), "ASP401"),  # of the first plane
        (PLANES.replace("(z - 1)", "(z - 1)*z"), "ASP402"),
        (PLANES.replace("n*nz*p", "(n*nz + 1)*p"), "ASP402"),
        (PLANES.replace("n*(z - 1)", "(n - 1)*(z - 1)"), "ASP405"),
        (ROWS.replace("i = 1, n", "i = 1, n + 1"), "ASP405"),
        (SECTIONS.replace("low + n - 1", "low + n"), "ASP405"),
        (COUNTED.replace("i = 1, n", "i = 1, n + 1"), "ASP405"),
        (COUNTED.replace("at = at + 1", "if (i > me) at = at + 1"), "ASP402"),
        (RUNNING.replace("i = 1, n\n      at", "i = 1, n + p\n      at"), "ASP105"),
        (OF_RANKS.replace("(p - 1)*n*nz", "(p - 1)*n*nz + 1"), "ASP405"),
    ],
)
def test_subscripts_that_reach_other_planes_are_not(nest: str, code: str, tmp_path: Path) -> None:
    report = site(tmp_path, _text(nest)).report
    assert (report.verdict, report.code) == ("refused", code)


def test_a_position_that_is_read_later_keeps_its_value(tmp_path: Path) -> None:
    assert site(tmp_path, _text(RUNNING, "print *, at\n")).report.verdict == "refused"
    assert site(tmp_path, _text(COUNTED, "print *, at\n")).report.verdict == "proved"


def test_a_position_is_set_where_a_tile_begins(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    text = transformed(tmp_path / "first", _text(OF_RANKS))
    assert "if (asphalt_x%tiled) at = at + max(0, n)*(asphalt_x%lo - 1)\n" in text
    text = transformed(tmp_path / "second", _text(RUNNING))
    words = " ".join(text.replace("&", "").split())
    assert "if (asphalt_x%tiled) at = max(0, n)*((p - 1)*nz + (asphalt_x%lo - 1))" in words


def test_what_a_block_does_not_hold_is_asked_at_run_time(tmp_path: Path) -> None:
    """That the dimensions have elements, and together the length of a block."""
    judged = site(tmp_path, _text(PLANES)).judgement
    assert isinstance(judged, Plan)
    guards = {(str(g.left), g.relation, str(g.right)) for g in judged.layout.guards}  # type: ignore[union-attr]
    assert {("1", "<=", "n"), ("1", "<=", "nz")} <= guards


def test_the_statements_that_change_a_subscript_are_told(tmp_path: Path) -> None:
    nest = COUNTED.replace("at = at + 1", "if (i > me) at = at + 1")
    report = site(tmp_path, _text(nest)).report
    assert "the value of at in a subscript is not known: lines" in report.message


_LISTS = "integer, allocatable :: counts(:), first(:)\n"
_ALL = "allocate(counts(0:np-1), first(0:np-1))\n"
_CALL = """\
call MPI_Alltoallv(s, counts, first, MPI_DOUBLE_PRECISION, r, counts, first, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""
_MESSAGES = """\
do at = 0, np - 1
  to = modulo(me + at, np)
  from = modulo(me - at, np)
  call MPI_Irecv(r(n*nz*from + 1), n*nz, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, &
                 requests(2*at + 1), ierr)
  call MPI_Isend(s(n*nz*to + 1), n*nz, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, &
                 requests(2*at + 2), ierr)
end do
call MPI_Waitall(2*np, requests, MPI_STATUSES_IGNORE, ierr)
"""


def _uneven(nest: str, call: str) -> str:
    return program(
        arrays=f"real(8), allocatable :: s(:), r(:), work(:,:,:)\n{_LISTS}",
        declare="integer :: at, low, high, to, from\ninteger, allocatable :: requests(:)\n",
        allocate=f"allocate(s(2*n*nz*np), r(n*nz*np), requests(2*np))\n{_ALL}",
        before="do p = 0, np - 1\n  counts(p) = n*nz\n  first(p) = n*nz*p\nend do\n",
        nest=nest,
        call=call,
    )


@pytest.mark.parametrize("call", [_CALL, _MESSAGES])
@pytest.mark.parametrize(
    ("nest", "proved"),
    [
        (PLANES, True),
        (COUNTED, True),
        (SECTIONS, True),
        (PLANES.replace("i = 1, n", "i = 1, n + 1"), False),
        (COUNTED.replace("i = 1, n", "i = 1, n + 1"), False),
        (PLANES.replace("do i", "s(1) = z\n    do i"), False),
        (PLANES.replace("n*nz*p", "(n*nz + 1)*p"), False),
    ],
)
def test_flat_planes_of_other_exchanges(nest: str, proved: bool, call: str, tmp_path: Path) -> None:
    report = site(tmp_path, _uneven(nest, call)).report
    assert report.verdict == ("proved" if proved else "refused")


def test_flat_slabs_of_uneven_blocks(tmp_path: Path) -> None:
    judged = site(tmp_path, _uneven(ROWS, _CALL)).judgement
    assert isinstance(judged, Plan), judged
    assert judged.layout.pattern is TileShape.SLAB
    wrong = ROWS.replace("i = 1, n", "i = 1, n + 1")
    assert site(tmp_path, _uneven(wrong, _CALL)).report.verdict == "refused"
