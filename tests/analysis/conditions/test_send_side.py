"""Condition 6: nothing changes an element between its send and its wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import CALL, NEST, Case, assert_accepted, assert_refused, program, site

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
USED = "print *, sum(s)\n"  # so that packing it cannot be left out
SECOND = "real(8), pointer :: q(:,:,:)\nreal(8) :: w(1,1,1)\n"
ALSO = """\
do z = 1, nz
  s(:,z,:) = z
  q(1,1,1) = 0
end do
"""
POINT = "q => s\nif (np > 2) q => r\n"
ADDRESS = "integer(MPI_ADDRESS_KIND) :: address\n"
WINDOW = """\
address = 8*size(r)
call MPI_Win_create(r, address, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
"""
HELD = """\
module holder
  real(8) :: held(3,8,9), y(3,8,9)
end module holder
subroutine driver(np, r)
  use holder
  integer, intent(in) :: np
  real(8) :: r(3,8,np)
  call swap(np, held, y, r)
end subroutine driver
""" + TWO_DUMMIES.replace("use mpi\n", "use mpi\n  use holder, only: held\n").replace(
    "y(:,1,:) = 2", "held(1,1,1) = 2"
)
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
        program(declare=WORKSPACE, before=ALLOCATED, nest=f"{TWICE}{PACK}", after=USED),
        program(
            declare=WORKSPACE,
            before=ALLOCATED,
            nest=f"{TWICE.replace('s(', 'w(')}{PACK}",
            after=USED,
        ),
    ),
    Case(
        "ASP402",
        "written-through-another-pointer",
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\n", nest=f"{ALSO}"),
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\n", nest=ALSO.replace("q(", "w(")),
    ),
    Case(
        "ASP402",
        "a-target-written-through-a-pointer",
        program(arrays=f"{TARGETS}{SECOND}", before="q => s\n", nest=f"{ALSO}"),
        program(arrays=f"{TARGETS}{SECOND}", before="q => s\n", nest=ALSO.replace("q(", "w(")),
    ),
    Case(
        "ASP601",
        "changed-through-another-pointer",
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\n", between="q(1,1,1) = 0\n"),
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\nq(1,1,1) = 0\n"),
    ),
    Case(
        "ASP601",
        "another-target-before-the-call",
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\n", nest=f"{NEST}s => q\n"),
        program(arrays=f"{POINTERS}{SECOND}", before="q => s\n", nest=f"{NEST}", after="s => q\n"),
    ),
    Case(
        "ASP602",
        "the-address-is-taken",
        program(declare=ADDRESS, before="call MPI_Get_address(s, address, ierr)\n"),
        program(declare=ADDRESS),
    ),
    Case(
        "ASP602",
        "a-window-on-the-receive-buffer",
        program(declare=f"{ADDRESS}integer :: window\n", before=WINDOW),
        program(declare=f"{ADDRESS}integer :: window\n"),
    ),
    Case(
        "ASP602",
        "known-by-its-module's-name",
        program(nest="call driver(np, r)\n", call="", beside=HELD),
        program(
            nest="call driver(np, r)\n",
            call="",
            beside=HELD.replace("held(1,1,1) = 2", "y(1,1,1) = 2"),
        ),
    ),
    Case(
        "ASP602",
        "parts-of-one-array",
        program(
            arrays="real(8) :: w(300), r(100)\n",
            allocate="",
            nest="call swap(np, w(1), w(24*np), r)\n",
            call="",
            beside=TWO_DUMMIES,
        ),
        program(
            arrays="real(8) :: w(300), r(100)\n",
            allocate="",
            nest="call swap(np, w(1), w(24*np+1), r)\n",
            call="",
            beside=TWO_DUMMIES,
        ),
    ),
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


@pytest.mark.parametrize(
    ("nest", "between", "clone"),
    [
        (NEST, "", False),
        (NEST, "q(1,1,1) = 0\n", True),
        (NEST.replace("p*me", "q(1,z,p)"), "", True),
        (NEST.replace("p*me", "s(1,z,p)"), "", False),
    ],
)
def test_what_may_be_the_receive_buffer_keeps_it_from_being_received_into(
    nest: str, between: str, clone: bool, tmp_path: Path
) -> None:
    text = program(arrays=f"{TARGETS}{SECOND}", before=POINT, nest=nest, between=between)
    report = site(tmp_path, text).report
    if between:  # it may as well be the send buffer
        assert (report.verdict, report.code) == ("refused", "ASP601")
        return
    assert report.verdict == "proved"
    assert any("received into a clone" in evidence for evidence in report.evidence) is clone
