"""What stops messages that a procedure starts and its callers complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.passes import Pass
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from support.judging import SETTINGS

_MODULE = """\
module ring
  use mpi
  implicit none
  integer, parameter :: n = 4000
  integer :: left = 0, right = 0
  real(8) :: out(n), in(n), u(0:n+1), v(n), w(n), clocks(2)
contains
  subroutine begin(a, b, r, t)
    real(8), intent(in) :: a(:)
    real(8), intent(inout) :: b(:)
    integer, intent(out) :: r, t
    integer :: ierr
    call MPI_Isend(a, n, MPI_REAL8, right, 1, MPI_COMM_WORLD, r, ierr)
    call MPI_Irecv(b, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, t, ierr)
{fake}
  end subroutine begin
  subroutine pack
    out = 2*u(1:n)
  end subroutine pack
  subroutine unpack
    u(0) = in(n)
  end subroutine unpack
  subroutine step(rq)
    integer, intent(inout) :: rq(4)
    integer :: ierr, i
    integer :: which(2)
    logical :: done
{step}
  end subroutine step
end module ring
program main
  use mpi
  use ring
  implicit none
  integer :: ierr, rq(4)
  call MPI_Init(ierr)
  call step(rq)
{main}
  call MPI_Finalize(ierr)
end program main
"""
_START = "    call begin(out, in, rq(1), rq(2))\n"
_WAIT = "    call MPI_Waitall(2, rq, MPI_STATUSES_IGNORE, ierr)\n"
_WORK = "    do i = 1, n\n      v(i) = sqrt(abs(u(i-1)) + i)\n    end do\n"
_STEP = 28  # the line of the first statement of step


def _told(tmp_path: Path, step: str, fake: str = "", main: str = "") -> SiteReport:
    path = tmp_path / "ring.f90"
    path.write_text(_MODULE.format(step=step.rstrip("\n"), fake=fake, main=main))
    project = Project(tmp_path, settings=replace(SETTINGS, passes=(Pass.MOTION,)))
    sites = project.own_operations(project.outcome())
    return next(site for site in sites if site.operation == "MPI_Irecv")


_HERE = f"called in line {_STEP + 1}"
_ALL = f"{_HERE}, completed in line {_STEP + 2}"
_TEST = "    call MPI_Testall(2, rq, done, MPI_STATUSES_IGNORE, ierr)\n"
_SOME = "    call MPI_Testsome(2, rq, i, which, MPI_STATUSES_IGNORE, ierr)\n"
_ONE = "    call MPI_Wait(rq({}), MPI_STATUS_IGNORE, ierr)\n"


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (
            "    call pack\n" + _START + _WAIT + "    call unpack\n" + _WORK, "ASP026",
            f"no computation to overlap: {_ALL}: below, line {_STEP + 3} reads in; "
            f"above, line {_STEP} defines out",
        ),
        (  # another message in between is not the obstacle
            "    call pack\n" + _START + _ONE.format(2) + _ONE.format(1) + "    call unpack\n"
            + _WORK, "ASP026",
            f"no computation to overlap: {_ALL}: below, line {_STEP + 4} reads in; "
            f"above, line {_STEP} defines out",
        ),
        (  # the branch around the start has no more to pass
            "    u = 1\n    if (left > 0) then\n      call pack\n  " + _START + "    end if\n"
            "    if (left > 0) then\n  " + _WAIT + "    end if\n    call unpack\n" + _WORK,
            "ASP026",
            f"no computation to overlap: called in line {_STEP + 3}, completed in "
            f"line {_STEP + 6}: below, line {_STEP + 8} reads in; above, line {_STEP + 2} defines "
            "out",
        ),
        (
            "    u = 1\n" + _START + _TEST + _WAIT + _WORK, "ASP012",
            f"{_HERE}: line {_STEP + 2} (MPI_Testall) completes messages only if its flag is true",
        ),
        (
            "    u = 1\n" + _START + _SOME + _WAIT + _WORK, "ASP012",
            f"{_HERE}: line {_STEP + 2} (MPI_Testsome) completes those messages that have ended, "
            "if any have",
        ),
    ],
)  # fmt: skip
def test_the_obstacle(step: str, code: str, message: str, tmp_path: Path) -> None:
    found = _told(tmp_path, step)
    assert (found.code, found.message) == (code, message)


def test_an_operation_of_all_ranks_in_the_procedure(tmp_path: Path) -> None:
    fake = "    call MPI_Barrier(MPI_COMM_WORLD, ierr)"
    found = _told(tmp_path, "    u = 1\n" + _START + _WAIT + _WORK, fake)
    assert (found.code, found.message) == (
        "ASP012",
        f"{_HERE}: line 15 (MPI_Barrier) waits for other ranks, and is not passed by the call",
    )


def test_work_in_the_window_already(tmp_path: Path) -> None:
    found = _told(
        tmp_path, "    call pack\n" + _START + _WORK + _WAIT + "    call unpack\n" + _WORK
    )
    assert found.message.startswith(f"no more computation to overlap: {_HERE}, completed in ")


def test_the_statements_are_marked(tmp_path: Path) -> None:
    found = _told(tmp_path, "    call pack\n" + _START + _WAIT + "    call unpack\n" + _WORK)
    marks = {mark.line: mark.text for mark in found.marks}
    assert marks[_STEP + 2] == "completes it"
    assert marks[_STEP + 3] == f"line {_STEP + 3} reads in"


def test_a_request_with_another_value(tmp_path: Path) -> None:
    fake = "    if (r == 7) r = n"
    found = _told(tmp_path, "    call pack\n" + _START + _WAIT + "    call unpack\n", fake)
    assert found.code == "ASP012"
    assert found.message.startswith("called in line")
    assert found.message.endswith(": line 15 defines the request r by itself")


def test_the_caller_of_the_caller_completes_it(tmp_path: Path) -> None:
    main = "  call pack\n" + _WAIT + "  call unpack\n  call pack"
    found = _told(tmp_path, "    call pack\n" + _START, main=main)
    assert found.code == "ASP026"
    assert "completed in line" in found.message
    assert "reads in" in found.message
