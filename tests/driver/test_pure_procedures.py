"""`--assume pure:NAME` for transfers: the same as a directive in the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.report.project_reports import reports_before

_PROGRAM = """\
program ring
  use mpi
  implicit none
  integer, parameter :: n = 20000
  integer :: me, np, code, i
  real(8) :: a(n), b(n), c(n)
{said}  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
  call MPI_Comm_size(MPI_COMM_WORLD, np, code)
  c = 2
  a = me
  b = 0
  if (np < 0) print *, np
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, mod(me + 1, np), 1, b, n, MPI_DOUBLE_PRECISION, &
                    mod(me - 1 + np, np), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call filter_of_somebody({passed})
  do i = 1, n
    c(i) = 0.5d0*c(i) + i
  end do
  print *, sum(b), sum(c)
  call MPI_Finalize(code)
end program ring
"""
_SAID = "  !$asphalt assume(pure: filter_of_somebody)\n"
_NAME = "pure:filter_of_somebody"


def told(folder: Path, *accepted: str, said: str = "", passed: str = "c") -> SiteReport:
    path = folder / "ring.f90"
    path.write_text(_PROGRAM.format(said=said, passed=passed))
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset(accepted))
    (report,) = (
        one
        for one in reports_before(Project(path, settings=own))
        if one.operation == "MPI_Sendrecv"
    )
    return report


def test_option_and_directive_mean_the_same(tmp_path: Path) -> None:
    by_option, by_directive = told(tmp_path, _NAME), told(tmp_path, said=_SAID)
    assert by_option.verdict == by_directive.verdict == "proved"
    assert by_option.message.split(",")[0] == by_directive.message.split(",")[0]
    assert by_option.accepted == (_NAME,)


@pytest.mark.parametrize("accepted", [(), ("pure:another",), (f"{_NAME}@ring:99",)])
def test_nothing_is_assumed_otherwise(accepted: tuple[str, ...], tmp_path: Path) -> None:
    assert told(tmp_path, *accepted).verdict != "proved"


def test_what_the_procedure_is_given_keeps_its_order(tmp_path: Path) -> None:
    """It may change what is sent, received, and computed."""
    for how in ({"said": _SAID}, {}):
        names = () if how else (_NAME,)
        assert told(tmp_path, *names, passed="a, b, c", **how).verdict == "refused"
