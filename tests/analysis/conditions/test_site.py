"""Condition 0: which calls are sites that can be prepushed, and whose text may be edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import CALL, NEST, Case, assert_accepted, assert_refused, program, site

IN_PLACE = """\
call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, n*nz, MPI_DOUBLE_PRECISION, &
                  MPI_COMM_WORLD, ierr)
"""
VECTORS = """\
call MPI_Alltoallv(s, counts, displs, MPI_DOUBLE_PRECISION, r, counts, displs, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""
TYPED = """\
call MPI_Alltoallw(s, counts, 8*displs, types, r, counts, 8*displs, types, MPI_COMM_WORLD, ierr)
"""
LISTS = "integer, allocatable :: counts(:), displs(:)\n"
NON_BLOCKING = """\
call MPI_Ialltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                   MPI_COMM_WORLD, request, ierr)
call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
"""
COUNTS = "allocate(counts(np), displs(np))\ncounts = n*nz\ndispls = [(n*nz*(p-1), p=1,np)]\n"
COMPONENT = """\
type :: pair
  real(8), allocatable :: s(:,:,:)
end type pair
type(pair) :: t
"""

SWAP = """\
subroutine swap(s, r, count, comm)
  use mpi
  real(8), intent(in) :: s(*)
  real(8), intent(inout) :: r(*)
  integer, intent(in) :: count, comm
  integer :: ierr
  call MPI_Alltoall(s, count, MPI_DOUBLE_PRECISION, r, count, MPI_DOUBLE_PRECISION, comm, ierr)
{more}end subroutine swap
"""
CALL_SWAP = "call swap(s, r, n*nz, MPI_COMM_WORLD)\n"

CASES = (
    Case(
        "ASP008",
        "wrapper-that-does-more",
        program(call=CALL_SWAP, beside=SWAP.format(more="  r(1) = count\n")),
        program(call=CALL_SWAP, beside=SWAP.format(more="  if (ierr /= 0) stop 1\n")),
    ),
    Case(
        "ASP001",
        "a-type-a-rank",
        program(
            declare=f"{LISTS}integer, allocatable :: types(:)\n",
            before=f"{COUNTS}types = 0*counts + MPI_DOUBLE_PRECISION\n",
            call=TYPED,
        ),
        program(declare=LISTS, before=COUNTS, call=VECTORS),
    ),
    Case(
        "ASP009",
        "counts-are-an-expression",
        program(
            declare=LISTS,
            before=COUNTS,
            call=VECTORS.replace("r, counts,", "r, 1*counts,"),
        ),
        program(declare=LISTS, before=COUNTS, call=VECTORS.replace("r, counts,", "r, counts(:),")),
    ),
    Case(
        "ASP009",
        "counts-with-gaps",
        program(
            declare=LISTS, before=COUNTS, call=VECTORS.replace("(s, counts", "(s, counts(::2)")
        ),
        program(declare=LISTS, before=COUNTS, call=VECTORS.replace("(s, counts", "(s, counts(1:)")),
    ),
    Case(
        "ASP009",
        "counts-in-an-array-of-structures",
        program(
            declare=f"{LISTS}type :: list\n  integer :: of(9)\nend type list\ntype(list) :: t(2)\n",
            before=f"{COUNTS}t(1)%of = n*nz\n",
            call=VECTORS.replace("r, counts", "r, t(1)%of"),
        ),
        program(
            declare=f"{LISTS}type :: list\n  integer :: of(9)\nend type list\ntype(list) :: t\n",
            before=f"{COUNTS}t%of = n*nz\n",
            call=VECTORS.replace("r, counts", "r, t%of"),
        ),
    ),
    Case(
        "ASP001",
        "not-blocking",
        program(declare="integer :: request\n", call=NON_BLOCKING),
        program(declare="integer :: request\n"),
    ),
    Case(
        "ASP007",
        "module-that-is-not-given",
        program().replace("  use mpi\n", "  use communication\n  use constants\n"),
        program(),
    ),
    Case(
        "ASP013",
        "module-of-sizes-that-is-not-given",
        program().replace("  use mpi\n", "  use mpi\n  use sizes\n"),
        program(),
    ),
    Case(
        "ASP007",
        "no-module-of-mpi",
        program().replace("  use mpi\n", ""),
        program(),
    ),
    Case("ASP002", "one-buffer", program(nest=NEST.replace("s(", "r("), call=IN_PLACE), program()),
    Case(
        "ASP003",
        "component-of-an-array-of-structures",
        program(
            declare=COMPONENT.replace(":: t", ":: t(2)"),
            before="allocate(t(1)%s(n,nz,np))\n",
            nest=NEST.replace("s(", "t(1)%s("),
            call=CALL.replace("(s,", "(t(1)%s,"),
        ),
        program(
            declare=COMPONENT,
            before="allocate(t%s(n,nz,np))\n",
            nest=NEST.replace("s(", "t%s("),
            call=CALL.replace("(s,", "(t%s,"),
        ),
    ),
    Case(
        "ASP003",
        "section-with-a-stride",
        program(call=CALL.replace("(s,", "(s(:,:,::2),")),
        program(call=CALL.replace("(s,", "(s(:,:,2:),").replace("r,", "r(1,1,2),")),
    ),
    Case(
        "ASP003",
        "expression",
        program(call=CALL.replace("(s,", "((s),")),
        program(call=CALL.replace("(s,", "(s(:,:,:),")),
    ),
    Case(
        "ASP004",
        "macro-in-the-nest",
        program(nest=NEST.replace("p*me", "WEIGHT(p)"), declare="#define WEIGHT(x) x*me\n"),
        program(declare="#define WEIGHT(x) x*me\n"),
        suffix=".F90",
    ),
    Case(
        "ASP004",
        "two-statements-on-a-line",
        program(nest="i = 0; " + NEST),
        program(nest="i = 0\n" + NEST),
    ),
    Case(
        "ASP004",
        "name-that-new-statements-need",
        program(declare="integer :: max = 3\n"),
        program(declare="integer :: most = 3\n"),
    ),
    Case(
        "ASP004",
        "name-that-begins-with-asphalt",
        program(declare="integer :: asphalt_tile = 3\n"),
        program(declare="integer :: tile = 3\n"),
    ),
    Case(
        "ASP004",
        "label-of-the-call",
        program(call=f"10 {CALL}"),
        program(call=f"10 continue\n{CALL}".replace("10 continue", "continue")),
    ),
    Case(
        "ASP006",
        "skipped",
        program(call=f"!$asphalt skip\n{CALL}"),
        program(call=f"!$asphalt tile(4)\n{CALL}"),
        verdict="skipped",
    ),
    Case(
        "ASP006",
        "producer-skipped",
        program(nest=f"!$asphalt skip\n{NEST}"),
        program(nest=f"! asphalt, do not skip\n{NEST}"),
        verdict="skipped",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_the_message_names_the_operation_as_it_is_spelled(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.code == "ASP001")
    report = site(tmp_path, case.refused).report
    assert report.operation == "MPI_Alltoallw"
    assert report.message.startswith("MPI_Alltoallw is not prepushed")


@pytest.mark.parametrize("module", ["sizes", "e"])  # any message has an "e"
def test_a_missing_module_is_reported_with_its_consequences(module: str, tmp_path: Path) -> None:
    text = program().replace("  use mpi\n", f"  use mpi\n  use {module}, only: n, nz\n")
    text = text.replace("  integer, parameter :: n = 3, nz = 8\n", "")
    report = site(tmp_path, text).report
    assert report.verdict == "refused"
    assert report.message.endswith(f"module {module} (line 3) is not among the given files")


_CHILD = """\
submodule (parent) child
{use}  implicit none
contains
  module subroutine go(s, r, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: s(n,*), r(n,*)
    integer :: ierr
    call MPI_Alltoall(s, n, MPI_REAL8, r, n, MPI_REAL8, MPI_COMM_WORLD, ierr)
  end subroutine go
end submodule child
"""


def test_the_parent_of_a_submodule_may_have_the_binding(tmp_path: Path) -> None:
    """It is told that it is not given; what the submodule uses itself is seen without it."""
    without = site(tmp_path, _CHILD.format(use="")).report
    assert without.code == "ASP007"
    assert without.message.endswith("module parent is not among the given files")
    assert site(tmp_path, _CHILD.format(use="  use mpi\n")).report.code == "ASP101"
    parent = "module parent\n{}\n  private\n  interface\n    module subroutine go(s, r, n)\n"
    parent += "      integer, intent(in) :: n\n      real(8), intent(inout) :: s(n,*), r(n,*)\n"
    parent += "    end subroutine\n  end interface\nend module\n"
    assert (
        site(tmp_path, parent.format("  use mpi") + _CHILD.format(use="")).report.code == "ASP101"
    )
    other = parent.format("  use others, only: mpi_alltoall, MPI_REAL8, MPI_COMM_WORLD")
    report = site(tmp_path, other + _CHILD.format(use="")).report
    assert report.code == "ASP007"
    assert report.message.endswith("module others is not among the given files")
