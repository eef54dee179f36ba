"""Condition 8: the buffers are contiguous, and the data types are what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import CALL, Case, assert_accepted, assert_refused, program, project, site

ASSUMED = """\
subroutine exchange(n, nz, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz
  real(8), intent(inout) :: s(:,:,:), r(:,:,:)
  integer :: z, ierr
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
end subroutine exchange
"""
INNER = ASSUMED.replace("subroutine exchange", "subroutine inner")  # in a program "exchange"
CALLS = "call inner(n, nz, s(:,:,2:7:5), r)\n"
ROW = CALL.replace("n*nz, MPI_DOUBLE_PRECISION", "n*nz, row")
MAKE_ROW = """\
call MPI_Type_contiguous(1, MPI_DOUBLE_PRECISION, row, ierr)
call MPI_Type_commit(row, ierr)
"""
OTHER_SHAPE = "allocate(s(n,nz,np), r(nz,n,np))\n"

CASES = (
    Case(
        "ASP801",
        "all-callers-pass-gaps",
        program(nest=f"{CALLS}call inner(n, nz, s(:,:,::2), r)\n", call="", contained=INNER),
        program(nest=f"{CALLS}call inner(n, nz, s, r)\n", call="", contained=INNER),
    ),
    Case(
        "ASP801",
        "the-run-cannot-be-asked",
        ASSUMED.replace("z, ierr", "z, ierr, is_contiguous"),
        ASSUMED,
    ),
    Case(
        "ASP802",
        "derived-type",
        program(declare="integer :: row\n", before=MAKE_ROW, call=ROW),
        program(declare="integer :: row\n", before=MAKE_ROW),
    ),
    Case(
        "ASP803",
        "type-of-other-size",
        program(call=CALL.replace("MPI_DOUBLE_PRECISION", "MPI_REAL")),
        program(call=CALL.replace("MPI_DOUBLE_PRECISION", "MPI_REAL8")),
    ),
    Case(
        "ASP803",
        "two-types",
        program(call=CALL.replace("r, n*nz, MPI_DOUBLE_PRECISION", "r, n*nz, MPI_REAL8")),
        program(),
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


@pytest.mark.parametrize("attribute", ["", ", contiguous"])
def test_an_assumed_shape_is_checked_by_the_run(attribute: str, tmp_path: Path) -> None:
    text = ASSUMED.replace("inout)", f"inout){attribute}")
    (change,) = project(tmp_path, text).transform()
    checked = attribute == ""
    assert (
        b"is_contiguous(s) .and. is_contiguous(r)" in b" ".join(change.after.split())
    ) is checked


def test_callers_that_pass_whole_arrays_need_no_check(tmp_path: Path) -> None:
    text = program(nest="call exchange(n, nz, s, r)\n", call="", contained=ASSUMED)
    found = site(tmp_path, text)
    assert found.report.verdict == "proved"
    (change,) = project(tmp_path, text).transform()
    assert b"is_contiguous" not in change.after
