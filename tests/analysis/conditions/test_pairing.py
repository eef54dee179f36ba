"""Condition 9: for every pair of ranks both sides compute the same sequence of pieces."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.conditions import pairing
from asphalt.analysis.schedule.check import check_shape
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.verdicts.verdict import Holds
from support.judging import CALL, Case, assert_accepted, assert_refused, program, site

ARRAYS = "real(8), allocatable :: s(:,:), r(:,:)\nreal(8) :: x\n"
ALLOCATE = "allocate(s(n,nz*np), r(n,nz*np))\nx = 0\n"
CARRIED = "do z = 1, nz*np\n  x = x + z\n  s(:,z) = x\nend do\n"
USED_LATER = "do z = 1, nz*np\n  x = z\n  s(:,z) = x\nend do\n"


def slab(nest: str, after: str = "") -> str:
    return program(arrays=ARRAYS, allocate=ALLOCATE, nest=nest, call=CALL, after=after)


COLUMNS = "real(8), allocatable :: s(:,:,:), r(:,:,:)\ninteger :: counts(99) = 2, displs(99)\n"
PLACES = "allocate(s(n,nz,np), r(n,nz,np))\ndispls(:np) = [(n*nz*(p-1), p=1,np)]\n"
VECTORS = """\
call MPI_Alltoallv(s, counts, displs, MPI_DOUBLE_PRECISION, r, counts, displs, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""


def uneven(nest: str) -> str:
    return program(arrays=COLUMNS, allocate=PLACES, nest=nest, call=VECTORS)


CASES = (
    Case(
        "ASP904",
        "uneven-blocks-from-their-ends",
        uneven("do z = nz, 1, -1\n  s(:,z,:) = z\nend do\n"),
        uneven("do z = 1, nz\n  s(:,z,:) = z\nend do\n"),
    ),
    Case(
        "ASP902",
        "iterations-carry-a-value",
        slab(CARRIED),
        slab(CARRIED.replace("x + z", "0.5d0*z")),
    ),
    Case(
        "ASP902",
        "last-value-is-used",
        slab(USED_LATER, after="print *, x\n"),
        slab(USED_LATER, after="x = 1\nprint *, x\n"),
    ),
    Case(
        "ASP902",
        "last-value-is-used-in-a-constructor",
        slab(USED_LATER, after="print *, sum([x, 1d0])\n"),
        slab(USED_LATER, after="x = 1\nprint *, sum([x, 1d0])\n"),
    ),
    Case(
        "ASP902",
        "last-value-has-another-name",
        slab(USED_LATER, after="associate (y => x)\n  print *, y\nend associate\n"),
        slab(USED_LATER, after="associate (y => 2*n)\n  print *, y\nend associate\n"),
    ),
    Case(
        "ASP902",
        "last-value-goes-into-a-parallel-region",
        slab(USED_LATER, after="!$omp parallel firstprivate(x)\n!$omp end parallel\n"),
        slab(USED_LATER, after="!$omp parallel firstprivate(n)\n!$omp end parallel\n"),
    ),
    Case(
        "ASP902",
        "slabs-run-backwards",
        slab(USED_LATER.replace("1, nz*np", "nz*np, 1, -1")),
        slab(USED_LATER),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_the_loop_variable_may_be_used_later(tmp_path: Path) -> None:
    """Its last value is restored."""
    assert site(tmp_path, slab(USED_LATER, after="print *, z\n")).report.verdict == "proved"


@pytest.mark.parametrize("shape", list(TileShape))
def test_the_schedules_that_are_emitted_pair_up(shape: TileShape) -> None:
    assert check_shape(shape) is None


def test_every_block_may_carry_values(tmp_path: Path) -> None:
    """The order of iterations stays as it was, so nothing must be free."""
    text = program(
        declare="real(8) :: x\n",
        before="x = 0\n",
        nest="do z = 1, nz\n  x = x + z\n  s(:,z,:) = x\nend do\n",
        after="print *, x\n",
    )
    judgement = site(tmp_path, text).judgement
    assert isinstance(judgement, Plan)
    assert isinstance(pairing.check(judgement.producer, judgement.layout), Holds)
