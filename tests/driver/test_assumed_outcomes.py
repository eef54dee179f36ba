"""What is told of a reduction that `--assume bits` would let become non-blocking, without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.report.project_reports import reports_before

_PROGRAM = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 300
  integer :: i, ierr, me
  real(8) :: w(n), total, mine
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  mine = me + 0.5d0
{}
  call MPI_Finalize(ierr)
end program exchange
"""
SUM = "  call MPI_Allreduce(mine, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)\n"
WORK = "  do i = 1, n\n    w(i) = sqrt(dble(i))\n  end do\n"
SHOW = "  print *, total, w"


def told(tmp_path: Path, body: str, *accepted: str) -> SiteReport:
    path = tmp_path / "exchange.f90"
    path.write_text(_PROGRAM.format(body))
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset(accepted))
    (report,) = reports_before(Project(path, settings=own))
    return report


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (f"{SUM}{WORK}{SHOW}", "ASP025", "it overlaps with do i = 1, n, where the order"),
        (
            f"{WORK}  mine = sum(w)\n{SUM}{SHOW}",
            "ASP026",
            "with --assume bits, no computation to overlap",
        ),
        (
            f"  if (me < 2) then\n{SUM}  end if\n{WORK}{SHOW}",
            "ASP024",
            "that all ranks reach the call in ",
        ),
    ],
)
def test_nothing_is_promised_that_would_be_refused(
    body: str, code: str, says: str, tmp_path: Path
) -> None:
    report = told(tmp_path, body)
    promised = code == "ASP025"
    assert (report.code, report.verdict) == (code, "assumed" if promised else "refused")
    assert says in report.message
    assert report.assumptions == (("bits",) if promised else ())
    accepted = told(tmp_path, body, "bits")
    assert accepted.verdict == ("proved" if promised else "refused")
    assert accepted.code == (None if promised else code)
