"""Condition 4: the iteration that sends an element is the last that writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.tiling.plan import Plan
from support.judging import CALL, NEST, Case, assert_accepted, assert_refused, program, site

MIRRORED = "do z = 1, nz\n  s(:,z,:) = z\n  if (z > 1) s(:,nz+1-z,:) = 0\nend do\n"
SLABS = {
    "arrays": "real(8), allocatable :: s(:,:), r(:,:)\n",
    "allocate": "allocate(s(n,nz*np), r(n,nz*np))\n",
}
SLAB_LATE = "do z = 1, nz*np\n  s(2:,z) = z\n  if (z > 1) s(1,z-1) = z\nend do\n"
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
        "mirrored-plane",
        program(nest=MIRRORED),
        program(nest=MIRRORED.replace("nz+1-z", "z-1")),
    ),
    Case(
        "ASP401",
        "plane-before-it-in-slabs",
        program(**SLABS, nest=SLAB_LATE),
        program(**SLABS, nest=SLAB_LATE.replace("z-1", "z")),
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
        "planes-of-other-lengths",
        program(
            arrays="real(8), allocatable :: s(:), r(:,:,:)\n",
            allocate="allocate(s(n*nz*np), r(n,nz,np))\n",
            nest=LINEAR.replace("n*(z-1)", "n*z*(z-1)/2"),
        ),
        program(
            arrays="real(8), allocatable :: s(:), r(:,:,:)\n",
            allocate="allocate(s(n*nz*np), r(n,nz,np))\n",
            nest=LINEAR,
        ),
    ),
    Case(
        "ASP403",
        "ranks-in-two-dimensions",
        program(
            arrays="real(8), allocatable :: s(:,:,:,:), r(:,:,:)\n",
            allocate="allocate(s(nz,n,2,np), r(nz,n,2*np))\n",
            nest="do z = 1, nz\n  s(z,:,:,:) = z\nend do\n",
        ),
        program(
            arrays="real(8), allocatable :: s(:,:,:), r(:,:,:)\n",
            allocate="allocate(s(nz,n,2*np), r(nz,n,2*np))\n",
            nest="do z = 1, nz\n  s(z,:,:) = z\nend do\n",
        ),
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


@pytest.mark.parametrize(
    ("nest", "late", "ready"),
    [
        (PLANE_BEFORE, 1, -1),
        (LATE, 1, -1),
        ("do z = 2, nz\n  s(:,z,:) = z\n  s(:,z-1,:) = s(:,z-1,:) + 1\nend do\n", 1, 0),
        ("do z = 3, nz\n  s(:,z,:) = z\n  s(1,z-2:z,:) = 1\nend do\n", 2, 0),
        ("do z = 3, nz-1\n  s(:,z,:) = z\nend do\n", 0, 2),
        ("do z = 1, nz-1\n  s(:,z,:) = z\nend do\n", 0, 0),
        ("do z = nz-2, 1, -1\n  s(:,z,:) = z\n  s(1,z+1,:) = 0\nend do\n", 1, 1),
        ("do z = nz, 1, -1\n  s(:,min(z+3,nz),:) = 0\n  s(:,z,:) = z\nend do\n", 3, -3),
        ("do z = 1, nz+1\n  if (z <= nz) s(:,z,:) = z\n  if (z >= 2) s(1,z-1,:) = 0\n"
         "end do\n", 1, -1),
        ("do z = 1, nz\n  s(:,z,:) = z\n  if (z == 1) then\n    s(1,z,:) = 0\n"
         "  else if (n > 1) then\n    s(1,z-1,:) = 0\n  end if\nend do\n", 1, -1),
    ],
)  # fmt: skip
def test_planes_that_are_not_final_in_their_own_iteration(
    nest: str, late: int, ready: int, tmp_path: Path
) -> None:
    judgement = site(tmp_path, program(nest=nest)).judgement
    assert isinstance(judgement, Plan)
    window = judgement.layout.window
    assert window is not None
    assert (window.late, window.ready.value) == (late, ready)


@pytest.mark.parametrize(
    "nest",
    [
        # the condition is one of real numbers, changes before the write, or is another loop's
        "do z = 1, nz\n  x = z\n  s(:,z,:) = z\n  if (x > 1) s(:,z-1,:) = 0\nend do\n",
        "do z = 1, nz\n  s(:,z,:) = z\n  i = z\n  if (i > 1) s(:,i-1,:) = 0\nend do\n",
        "do z = 1, nz\n  s(:,z,:) = z\n  i = 3\n  if (i > 2) then\n    do i = 0, 1\n"
        "      s(:,z-i,:) = 0\n    end do\n  end if\nend do\n",
        "do z = 1, nz\n  s(:,z,:) = z\n  if (z > 1 .or. n > 1) s(:,z-1,:) = 0\nend do\n",
        "do z = 1, nz\n  s(:,z,:) = z\n  if (.not. z > 1) s(:,z-1,:) = 0\nend do\n",
        "do z = 1, nz\n  s(:,z,:) = z\n  if (z > 1) then\n    x = 1\n  else\n"
        "    s(:,z-1,:) = 0\n  end if\nend do\n",
    ],
)
def test_conditions_that_do_not_keep_a_subscript_in_its_dimension(
    nest: str, tmp_path: Path
) -> None:
    report = site(tmp_path, program(declare="real :: x\n", nest=nest)).report
    assert report.code in ("ASP401", "ASP405")


def test_sizes_that_the_run_must_compare_become_guards(tmp_path: Path) -> None:
    text = program(
        declare="integer :: m\n",
        before="m = n + np - np\n",
        nest=NEST.replace("1, n\n", "1, m\n"),
    )
    judgement = site(tmp_path, text).judgement
    assert isinstance(judgement, Plan)
    assert judgement.layout.guards == ()
