"""What reports on transfers tell of the calls of their procedure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.report.project_reports import reports_before

_PROCEDURE = """\
module halo
  use mpi
  implicit none
contains
  subroutine exchange(u, n, left, right)
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: u(0:n+1)
    real(8) :: first(1), last(1)
    integer :: ierr{kept}
    first = u(1)
    call MPI_Sendrecv(first, 1, MPI_REAL8, left, 1, last, 1, MPI_REAL8, right, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    u(n+1) = last(1)
  end subroutine exchange
end module halo
"""
_PROGRAM = """\
program heat
  use mpi
  use halo
  implicit none
  integer, parameter :: n = {n}
  integer :: ierr, step, i, left, right, map(n)
  real(8) :: u(0:n+1), v(n)
  call MPI_Init(ierr)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  u = 1
  map = [(i, i=1, n)]
  do step = 1, 10
    call exchange(u, n, left, right)
{between}
{work}
  end do
  print *, u(1)
  call MPI_Finalize(ierr)
end program heat
"""
_STENCIL = "u(i) + 0.5*(u(i+1) - u(i))"
_WORK = """\
    do i = 1, n
      v(i) = {value}
    end do
    u(1:n) = v"""
_KEPT = "\n    integer, save :: calls = 0\n    calls = calls + 1"


def _site(
    folder: Path,
    *,
    kept: str = "",
    between: str = "",
    work: str = _WORK,
    value: str = _STENCIL,
    n: int = 100_000,
) -> SiteReport:
    (folder / "halo.f90").write_text(_PROCEDURE.format(kept=kept))
    work = work.format(value=value)
    program = _PROGRAM.format(n=n, between=between, work=work)
    (folder / "heat.f90").write_text(program)
    project = Project(folder, settings=Settings(passes=TRANSFERS, cache=False, jobs=1))
    (found,) = (one for one in reports_before(project) if one.operation == "MPI_Sendrecv")
    return found


def test_work_behind_the_call_is_overlapped(tmp_path: Path) -> None:
    assert _site(tmp_path).verdict == "proved"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"kept": _KEPT},
            "{heat}:14: exchange is not inlined: calls is saved",
        ),
        (
            {"between": "    print *, step"},
            "called in {heat}:14: the loop of line 16 does not move above line 15: the PRINT in "
            "line 15",
        ),
        (
            {"value": "u(map(i)) + u(i+1)"},
            "called in {heat}:14: the nest of line 16 is not split into interior and edges: which "
            "part of it needs a message is not known, or is not at the ends of its loops",
        ),
        ({"n": 4}, "called in {heat}:14: inlined there, it saves too little"),
    ],
    ids=["not-inlined", "statement-between", "not-split", "no-gain"],
)
def test_a_refusal_tells_what_stands_in_the_way_at_the_call(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    site = _site(tmp_path, **change)
    assert site.verdict == "refused"
    assert site.message.endswith("; " + told.format(heat=tmp_path / "heat.f90"))
    own = site.message.removesuffix(told.format(heat=tmp_path / "heat.f90"))
    assert "below, line" in own
    assert "above, line" in own


def test_lines_are_those_of_the_file_that_is_named(tmp_path: Path) -> None:
    """The procedure that exchanges is called in its own file, what stays where it is in another."""
    inner = """  subroutine both(u, n, left, right)
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: u(0:n+1)
    call exchange(u, n, left, right)
  end subroutine both
end module halo"""
    procedure = _PROCEDURE.replace("end module halo", inner)
    (tmp_path / "halo.f90").write_text(procedure.format(kept=""))
    heat = tmp_path / "heat.f90"
    program = _PROGRAM.format(
        n=100_000, between="    print *, step", work=_WORK.format(value=_STENCIL)
    )
    heat.write_text(program.replace("call exchange", "call both"))
    project = Project(tmp_path, settings=Settings(passes=TRANSFERS, cache=False, jobs=1))
    (site,) = (one for one in reports_before(project) if one.operation == "MPI_Sendrecv")
    told = f"called in line 18: the loop of {heat}:16 does not move above {heat}:15: the PRINT in "
    assert told + f"{heat}:15" in site.message


def test_a_call_without_work_beside_it_is_not_told(tmp_path: Path) -> None:
    """Its procedure could not overlap with anything there, inlined or not."""
    site = _site(tmp_path, kept=_KEPT, work="")
    assert "not inlined" not in site.message


_PLANE = """\
module plane
  use mpi
  implicit none
contains
  subroutine exchange(u, n, west, east, south, north)
    integer, intent(in) :: n, west, east, south, north
    real(8), intent(inout) :: u(0:n+1, 0:n+1)
    real(8) :: sw(n), se(n), rw(n), re(n)
    integer :: req(8), ierr
    sw = u(1, 1:n)
    se = u(n, 1:n)
    call MPI_Irecv(rw, n, MPI_REAL8, west, 11, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(re, n, MPI_REAL8, east, 12, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Irecv(u(1, 0), n, MPI_REAL8, south, 13, MPI_COMM_WORLD, req(3), ierr)
    call MPI_Irecv(u(1, n+1), n, MPI_REAL8, north, 14, MPI_COMM_WORLD, req(4), ierr)
    call MPI_Isend(sw, n, MPI_REAL8, west, 12, MPI_COMM_WORLD, req(5), ierr)
    call MPI_Isend(u(1, n), n, MPI_REAL8, north, 13, MPI_COMM_WORLD, req(6), ierr)
    call MPI_Isend(u(1, 1), n, MPI_REAL8, south, 14, MPI_COMM_WORLD, req(7), ierr)
    call MPI_Isend(se, n, MPI_REAL8, east, 11, MPI_COMM_WORLD, req(8), ierr)
    call MPI_Waitall(8, req, MPI_STATUSES_IGNORE, ierr)
    u(0, 1:n) = rw
    u(n+1, 1:n) = re
  end subroutine exchange
end module plane
program wave
  use mpi
  use plane
  implicit none
  integer :: ierr, step, i, j, n, side(4)
  real(8), allocatable :: u(:, :), v(:, :), w(:, :)
  call MPI_Init(ierr)
  n = command_argument_count()
  allocate (u(0:n+1, 0:n+1), v(0:n+1, 0:n+1))
  side = MPI_PROC_NULL
  u = 1
  v = 1
  do step = 1, 10
    call exchange(u, n, side(1), side(2), side(3), side(4))
    do j = 1, n
      do i = 1, n
        v(i, j) = 2*u(i, j) - v(i, j) + 0.2*(u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
      end do
    end do
    call move_alloc(u, w)
    call move_alloc(v, u)
    call move_alloc(w, v)
  end do
  print *, u(1, 1)
  call MPI_Finalize(ierr)
end program wave
"""
_CALL, _NEST, _WAIT = 38, 39, 20  # lines


def test_a_refusal_tells_which_step_at_the_call_would_cost_what(tmp_path: Path) -> None:
    path = tmp_path / "wave.f90"
    path.write_text(_PLANE)
    project = Project(path, settings=Settings(passes=TRANSFERS, cache=False, jobs=1))
    (site,) = (one for one in reports_before(project) if one.verdict == "refused")
    *_, told = site.message.split("; ")
    split = f"the nest of line {_NEST} is split into its interior and its edges in j and i"
    wanted = rf"called in line {_CALL}: not kept: {split}: \+\d\.\d % on ib-ddr-2009, "
    wanted += r"but -\d\.\d % on ethernet-1g: --network NAME chooses one "
    wanted += r"\(estimated with usual values of n, which --size NAME=VALUE replaces by yours\)"
    assert re.fullmatch(wanted, told)
    steps = {(one.line, one.does.split(" is ")[0].split(" becomes ")[0]) for one in site.dropped}
    assert steps >= {
        (_NEST, f"the nest of line {_NEST}"),
        (_CALL, "exchange (wave.f90)"),
        (_WAIT, f"MPI_Waitall of line {_WAIT}"),
    }
