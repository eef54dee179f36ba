"""Condition 6: nothing changes an element between its send and its wait."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import CALL, Case, assert_accepted, assert_refused, program, site

POINTERS = "real(8), pointer :: s(:,:,:)\nreal(8), allocatable :: r(:,:,:)\n"
TARGETS = "real(8), allocatable, target :: s(:,:,:), r(:,:,:)\n"
FIXED = "real(8) :: s(n,nz,4), r(n,nz,4), x(n,nz,4)\n"
TWO_DUMMIES = """\
subroutine swap(np, x, y, r)
  use mpi
  integer, intent(in) :: np
  real(8), intent(inout) :: x(3,8,np), y(3,8,np), r(3,8,np)
  integer :: z, ierr
  do z = 1, 8
    x(:,z,:) = z
    y(:,1,:) = 2
  end do
  call MPI_Alltoall(x, 24, MPI_DOUBLE_PRECISION, r, 24, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
end subroutine swap
"""
WORKSPACE = "real(8), allocatable :: w(:,:,:)\n"
ALLOCATED = "allocate(w(n,nz,np))\n"
TWICE = "do z = 1, nz\n  s(:,z,:) = 0\n  w(:,z,:) = z\nend do\n"
PACK = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i,z,p) = w(i,z,p)
    end do
  end do
end do
"""
CALLS_SWAP = "call swap(np, s, {second}, r)\n"

CASES = (
    Case("ASP601", "changed-before-the-call", program(between="s(1,1,1) = 0\n"), program()),
    Case(
        "ASP601",
        "changed-under-a-condition",
        program(between="if (np > 2) s(1,1,1) = 0\n"),
        program(before="if (np > 2) s(1,1,1) = 0\n"),
    ),
    Case(
        "ASP601",
        "two-phases-write-it",
        program(declare=WORKSPACE, before=ALLOCATED, nest=f"{TWICE}{PACK}"),
        program(declare=WORKSPACE, before=ALLOCATED, nest=f"{TWICE.replace('s(', 'w(')}{PACK}"),
    ),
    Case("ASP602", "pointer", program(arrays=POINTERS), program()),
    Case("ASP602", "target", program(arrays=TARGETS), program()),
    Case(
        "ASP602",
        "equivalence",
        program(arrays=f"{FIXED}equivalence (s, x)\n", allocate=""),
        program(arrays=FIXED, allocate=""),
    ),
    Case("ASP602", "one-array-for-both", program(call=CALL.replace("r,", "s,")), program()),
    Case(
        "ASP602",
        "a-caller-passes-an-array-twice",
        program(nest=CALLS_SWAP.format(second="s"), call="", beside=TWO_DUMMIES),
        program(
            declare="real(8), allocatable :: t(:,:,:)\n",
            before="allocate(t(n,nz,np))\n",
            nest=CALLS_SWAP.format(second="t"),
            call="",
            beside=TWO_DUMMIES,
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_what_comes_after_the_call_may_change_the_send_buffer(tmp_path: Path) -> None:
    assert site(tmp_path, program(after="s(1,1,1) = 0\n")).report.verdict == "proved"
