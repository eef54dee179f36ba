"""Condition 2: whether the site is reached is the same on all ranks, and all come to this one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.judging import (
    CALL,
    NEST,
    SETTINGS,
    Case,
    assert_accepted,
    assert_refused,
    program,
    project,
    site,
)

# each branch looks legal on its own: together, ranks in different branches would hang
BY_RANK = f"if (me == 0) then\n{NEST}{CALL}else\n{NEST}"
BY_SIZE = BY_RANK.replace("me == 0", "np > 2")
ONE_RANK = "if (me < 0) then\n"
LIBRARY = """\
subroutine {name}(n, nz, np, comm, s, r)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(out) :: s(n,nz,np), r(n,nz,np)
  integer :: z, ierr
  do z = 1, nz
    s(:,z,:) = z
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine {name}
"""

CASES = (
    Case(
        "ASP201",
        "other-ranks-call-elsewhere",
        program(nest=BY_RANK, after="end if\n"),
        program(nest=BY_SIZE, after="end if\n"),
    ),
    Case(
        "ASP201",
        "as-often-as-the-rank-says",
        program(
            declare="integer :: it\n", nest=f"do it = 1, me + 1\n{NEST}", call=f"{CALL}end do\n"
        ),
        program(
            declare="integer :: it\n", nest=f"do it = 1, np + 1\n{NEST}", call=f"{CALL}end do\n"
        ),
    ),
    Case(
        "ASP202",
        "unknown-callers",
        LIBRARY.format(name="forward") + LIBRARY.format(name="backward"),
        LIBRARY.format(name="forward"),
        verdict="assumed",
    ),
)

BOUND = """\
module other_name
  interface
    subroutine ma(s, n, t, r, k, u, c, i) bind(c, {label})
      real(8) :: s(*), r(*)
      integer :: n, t, k, u, c, i
    end subroutine ma
  end interface
end module other_name
"""


@pytest.mark.parametrize(
    ("label", "assumptions"),
    [
        ('name="mpi_alltoall_"', ("control",)),
        ("NAME = 'MPI_Alltoall'", ("control",)),
        ("name='pmpi_alltoall__'", ("control",)),
        ("name='mpi_'//'alltoall'", ("control",)),
        ("name='mpi_alltoall_f08_'", ("control",)),
        ("name='mpi_bcast_'", ()),
        ("name='alltoall'", ()),
    ],
)
def test_a_binding_label_may_be_another_call(
    label: str, assumptions: tuple[str, ...], tmp_path: Path
) -> None:
    text = LIBRARY.format(name="forward") + BOUND.format(label=label)
    assert site(tmp_path, text).report.assumptions == assumptions


def test_a_specific_name_is_another_call(tmp_path: Path) -> None:
    text = LIBRARY.format(name="forward")
    other = "subroutine other()\n  call mpi_alltoall_f08ts()\nend subroutine other\n"
    assert site(tmp_path, text + other).report.assumptions == ("control",)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_an_assumption_is_named_and_may_be_accepted(tmp_path: Path) -> None:
    case = CASES[-1]
    assert site(tmp_path, case.refused).report.assumptions == ("control",)
    accepting = replace(SETTINGS, assume=frozenset({"control"}))
    found = project(tmp_path, case.refused, settings=accepting)
    (change,) = found.transform()
    assert b"! asphalt: assumed: control" in change.after
    assert [report.verdict for report in change.sites] == ["applied", "applied"]
