"""Condition 4: the iteration that sends an element is the last that writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import CALL, NEST, Case, assert_accepted, assert_refused, program, site

LATE = """\
do z = 1, nz
  s(:,z,:) = z
  s(:,max(1,z-1),:) = 0
end do
"""
PLANE_BEFORE = """\
do z = 1, nz
  do i = 1, n
    s(i,z,:) = z
    if (z > 1) s(i,z-1,:) = s(i,z-1,:) + 1
  end do
end do
"""
FIRST_PLANE = "do z = 1, nz\n  s(:,z,:) = z\n  s(1,1,1) = z\nend do\n"
INDEXED = "do z = 1, nz\n  s(:,idx(z),:) = z\nend do\n"
LINEAR = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i + n*(z-1) + n*nz*(p-1)) = z
    end do
  end do
end do
"""
BEYOND = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n*2
      s(i,z,p) = z
    end do
  end do
end do
"""
SHUFFLED = NEST.replace("s(i,", "s(1+mod(i*7,m),")
DATA = "integer :: idx(nz) = [8, 7, 6, 5, 4, 3, 2, 1]\n"

CASES = (
    Case(
        "ASP401",
        "plane-before-it",
        program(nest=PLANE_BEFORE),
        program(nest=PLANE_BEFORE.replace("z-1", "z")),
    ),
    Case(
        "ASP401",
        "some-plane-before-it",
        program(nest=LATE),
        program(nest=LATE.replace("max(1,z-1)", "z")),
    ),
    Case(
        "ASP401",
        "first-plane-again",
        program(nest=FIRST_PLANE),
        program(nest=FIRST_PLANE.replace("s(1,1,1)", "s(1,z,1)")),
    ),
    Case(
        "ASP402",
        "planes-through-an-index",
        program(declare=DATA, nest=INDEXED),
        program(declare=DATA, nest=INDEXED.replace("idx(z)", "z")),
    ),
    Case(
        "ASP402",
        "linear-subscripts",
        program(
            arrays="real(8), allocatable :: s(:), r(:,:,:)\n",
            allocate="allocate(s(n*nz*np), r(n,nz,np))\n",
            nest=LINEAR,
        ),
        program(nest=LINEAR.replace("i + n*(z-1) + n*nz*(p-1)", "i,z,p")),
    ),
    Case(
        "ASP403",
        "planes-inside-of-the-block",
        program(
            arrays="real(8), allocatable :: s(:,:,:), r(:,:,:)\n",
            allocate="allocate(s(nz,n,np), r(n,nz,np))\n",
            nest="do z = 1, nz\n  s(z,:,:) = z\nend do\n",
        ),
        program(nest="do z = 1, nz\n  s(:,z,:) = z\nend do\n"),
    ),
    Case(
        "ASP404",
        "count-is-no-block",
        program(call=CALL.replace("n*nz", "7")),
        program(call=CALL.replace("n*nz", "24")),
    ),
    Case("ASP405", "loop-beyond-its-dimension", program(nest=BEYOND), program()),
    Case(
        "ASP405",
        "subscript-not-bounded",
        program(declare="integer :: m\n", before="m = n\n", nest=SHUFFLED),
        program(declare="integer :: m\n", before="m = n\n"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_the_witness_is_a_write_after_the_send(tmp_path: Path) -> None:
    witness = site(tmp_path, CASES[0].refused).report.witness
    assert witness is not None
    words = dict(part.split("=") for part in witness.replace(",", " ").split() if "=" in part)
    assert witness.startswith("iteration z=")
    assert "which was sent with iteration z=" in witness
    assert words


def test_sizes_that_the_run_must_compare_become_guards(tmp_path: Path) -> None:
    from asphalt.analysis.plan import Plan

    text = program(
        declare="integer :: m\n",
        before="m = n + np - np\n",
        nest=NEST.replace("1, n\n", "1, m\n"),
    )
    judgement = site(tmp_path, text).judgement
    assert isinstance(judgement, Plan)
    assert judgement.layout.guards == ()
