"""A transfer of which only one operation overlaps with work says what stops the other one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.project import Project
from asphalt.report.project_reports import reports_after
from support.judging import SETTINGS

_PROGRAM = """\
program heat
  use mpi
  implicit none
  integer, parameter :: nx = 400, ny = 300
  real(8) :: total = 0, t(nx,0:ny+1), q(nx,ny), last
  integer :: rank, ranks, ierr, i, j, left, right
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank - 1 + ranks, ranks)
  t = rank
  print *, t(1,1)
  call MPI_Sendrecv(t(1,ny), nx, MPI_DOUBLE_PRECISION, right, 3, t(1,0), nx, &
       MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{before}  do j = 1, ny
    do i = 1, nx
      q(i,j) = sqrt(abs(t(i,{column}) + i))
{inside}    end do
  end do
{behind}  print *, rank, sum(q), total
  call MPI_Finalize(ierr)
end program heat
"""
_KEPT = "; its receive does not: below, line {} reads t; the nest of line {} is not split into "


def _told(
    tmp_path: Path,
    directive: str = "",
    inside: str = "",
    end: str = "!$omp end parallel do\n",
    column: str = "j-1",
) -> str:
    end = end if directive else ""
    (tmp_path / "heat.f90").write_text(
        _PROGRAM.format(before=directive, inside=inside, behind=end, column=column)
    )
    project = Project(tmp_path, settings=replace(SETTINGS, passes=tuple(TRANSFERS)))
    (site,) = (
        one for one in reports_after(project, project.outcome()) if one.operation == "MPI_Sendrecv"
    )
    assert site.verdict == "applied"
    return site.message


@pytest.mark.parametrize(
    ("directive", "inside", "end", "why"),
    [
        ("parallel do reduction(+:total)", "      total = total + q(i,j)\n", "parallel do",
         "its directive has REDUCTION"),
        ("parallel do private(last)", "      last = omp_get_thread_num()\n", "parallel do",
         "line 20 may ask for the number of the thread"),
        ("parallel do private(i)", "!$    q(i,j) = q(i,j) + omp_get_thread_num()*0\n",
         "parallel do", "line 20 is for OpenMP alone, or has a directive"),
        ("parallel do lastprivate(last)", "      last = q(i,j)\n", "parallel do",
         "its directive has LASTPRIVATE"),
        ("parallel do ordered", "!$omp ordered\n      total = q(i,j)\n!$omp end ordered\n",
         "parallel do", "its directive has ORDERED"),
    ],
)  # fmt: skip
def test_what_keeps_a_parallel_loop_whole_is_told(
    directive: str, inside: str, end: str, why: str, tmp_path: Path
) -> None:
    message = _told(tmp_path, f"!$omp {directive}\n", inside, f"!$omp end {end}\n")
    assert message.startswith("overlaps with do j = 1, ny")
    assert message.endswith(f"{_KEPT.format(19, 17)}interior and edges: {why}")


def test_a_region_is_kept_whole(tmp_path: Path) -> None:
    end = "!$omp end do nowait\n!$omp end parallel\n"
    message = _told(tmp_path, "!$omp parallel private(i)\n!$omp do\n", end=end)
    assert message.endswith("interior and edges: it is a region with an end of its own")


@pytest.mark.parametrize("directive", ["", "!$omp parallel do private(i)\n"])
def test_nothing_is_told_where_both_overlap(directive: str, tmp_path: Path) -> None:
    assert "receive" not in _told(tmp_path, directive)
    assert "receive" not in _told(tmp_path, directive, column="j")  # it needs no message


def test_what_a_loop_reads_is_told(tmp_path: Path) -> None:
    message = _told(tmp_path, column="mod(j,7)")
    assert "; its receive does not: below, line 18 reads t" in message
