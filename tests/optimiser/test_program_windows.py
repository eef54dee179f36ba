"""What stops the waits and starts that a program has itself, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.config.passes import Pass
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from support.judging import SETTINGS

_PROGRAM = """\
program stages
  use mpi
  implicit none
  integer, parameter :: n = 4000
  integer :: k, i, ierr, rq(2), left = 0, right = 0
  real(8) :: in(n), out(n), c(n)
  call MPI_Init(ierr)
  {first}
  do k = 1, 5
    if (k /= 1) then
      call MPI_Irecv(in, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, rq(1), ierr)
      call MPI_Waitall(2, rq, MPI_STATUSES_IGNORE, ierr)
      do i = 1, n
        c(i) = sqrt(in(i) + i)
      end do
    end if
    if (k /= {last}) then
      call MPI_Isend(out, n, MPI_REAL8, right, 1, MPI_COMM_WORLD, rq(2), ierr)
    end if
  end do
  print *, in(1), out(1), c(n)
  call MPI_Finalize(ierr)
end program stages
"""


def _told(tmp_path: Path, first: str, last: int = 5) -> dict[str, SiteReport]:
    (tmp_path / "stages.f90").write_text(_PROGRAM.format(first=first, last=last))
    project = Project(tmp_path, settings=replace(SETTINGS, passes=(Pass.MOTION,)))
    sites = project.own_operations(project.outcome())
    return {site.operation: site for site in sites}


def test_a_wait_that_may_complete_another_operation(tmp_path: Path) -> None:
    told = _told(tmp_path, "c = 1", 4)
    assert told["MPI_Irecv"].message == (
        "no computation to overlap: below, it is not known which operations line 12 completes"
    )
    assert told["MPI_Isend"].code == "ASP012"
    assert "line 12 completes it, but the request is used again" in told["MPI_Isend"].message


def test_a_wait_for_what_the_iteration_before_has_started(tmp_path: Path) -> None:
    told = _told(tmp_path, "c = 1")
    why = "no computation to overlap: below, line 14 reads in"
    assert told["MPI_Irecv"].message == why
    both = f"{why}, of the MPI_Irecv in line 11: one MPI_Waitall completes both"
    assert told["MPI_Isend"].message == f"{both}; above, line 12 is a transfer of rq, too"


def test_a_line_that_may_be_for_openmp(tmp_path: Path) -> None:
    told = _told(tmp_path, "!$call omp_set_num_threads(4)")
    assert "directive that asphalt knows: !$call omp_set_num_threads(4)" in (
        told["MPI_Irecv"].message
    )
