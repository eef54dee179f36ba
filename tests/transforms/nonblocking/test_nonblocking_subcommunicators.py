"""Collective operations of a program with several communicators become non-blocking where all ranks
of each come together, and compute the same under real MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.blocking import kept_blocking
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import RUNTIME, SMPI, Mpi, build, installed, run

_PROGRAM = """\
module domains
  use mpi
  implicit none
  type domain
    integer :: row = MPI_COMM_NULL, grid
  end type domain
contains
  subroutine create(all)
    type(domain), intent(out) :: all
    integer :: me, np, dims(2), ierr
    logical :: periods(2)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, {color}, 0, all%row, ierr)
    dims = 0
    periods = .false.
    call MPI_Dims_create(np, 2, dims, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., all%grid, ierr)
  end subroutine create
  real(8) function largest(all, x, comm)
    type(domain), intent(in) :: all
    real(8), intent(in) :: x(:)
    integer, intent(in) :: comm
    real(8) :: mine
    integer :: ierr
    mine = maxval(x)
    call MPI_Allreduce(mine, largest, 1, MPI_REAL8, MPI_MAX, comm, ierr)
  end function largest
  subroutine leave(all)
    type(domain), intent(inout) :: all
    integer :: ierr
    call MPI_Comm_free(all%row, ierr)
    call MPI_Comm_free(all%grid, ierr)
  end subroutine leave
end module domains
program main
  use mpi
  use domains
  implicit none
  integer, parameter :: n = 400
  type(domain) :: all
  integer :: me, ierr, i, step, rows
  real(8) :: a(n), b(n), c(n), least(n), most
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call create(all)
  a = 1 + me; b = 0; c = me; least = 0
  do rows = 1, 30
    do i = 1, n
      a(i) = a(i)*(0.4d0 + 0.2d0*mod(me, 2))
    end do
    call MPI_Allreduce(a, least, n, MPI_REAL8, MPI_MIN, all%row, ierr)
    do i = 1, n
      b(i) = b(i) + sin(dble(i*rows))
    end do
    if (least(1) < 1.0d-3) exit
  end do
  do step = 1, 20
    a = a*0.9d0
    most = largest(all, a, {comm})
    if (most < 1.0d-4) exit
    call MPI_Bcast(c, n, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
    do i = 1, n
      b(i) = b(i) + sqrt(dble(i*step))
    end do
    do i = 1, n
      c(i) = 0.5d0*c(i) + b(i)
    end do
  end do
  print '(3i5, 3z17)', me, rows, step, sum(a), sum(b), sum(c)
  call leave(all)
  call MPI_Finalize(ierr)
end program main
"""


def optimised(folder: Path, text: str) -> tuple[Optimised, set[tuple[str, str]]]:
    """What becomes of the main program, and what stays, by code."""
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    main = next(one for one in tree.units_of(str(path)) if one.unit.kind == "program")
    kept = {
        (spelled, found.code.id)
        for found, spelled in kept_blocking(Analyses(tree), main, Options())
    }
    return optimise(tree, main), kept


def test_what_a_row_has_in_common_decides_over_the_row_alone(tmp_path: Path) -> None:
    text = _PROGRAM.format(color="mod(me, 2)", comm="all%grid")
    found, kept = optimised(tmp_path, text)
    assert {one.operation for one in found.transfers} == {"MPI_Allreduce", "MPI_Bcast"}
    assert kept == set()
    of_rows, kept = optimised(
        tmp_path, text.replace("largest(all, a, all%grid)", "largest(all, a, all%row)")
    )
    assert {one.operation for one in of_rows.transfers} == {"MPI_Allreduce"}
    assert kept == {("MPI_Bcast", "ASP024")}


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_rows_that_end_at_different_times_compute_the_same(mpi: Mpi, tmp_path: Path) -> None:
    text = _PROGRAM.format(color="mod(me, 2)", comm="all%grid")
    found, _ = optimised(tmp_path, text)
    assert found.content is not None
    results: dict[str, list[list[str]]] = {}
    for kind, content in (("before", text.encode()), ("after", found.content)):
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "main.f90").write_bytes(content)
        runtime = [] if kind == "before" else [*RUNTIME]
        built = build(mpi, [*runtime, folder / "main.f90"], folder, ["-O2", "-w"])
        for ranks in (2, 3) if mpi is SMPI else (1, 4):  # SMPI's MPI_Ibcast fails on one rank
            outcome = run(mpi, built, ranks)
            assert outcome.code == 0, outcome.stderr
            results.setdefault(kind, []).append(sorted(outcome.stdout.splitlines()))
    assert results["before"] == results["after"]
    rows = {line.split()[1] for line in results["after"][1]}
    assert len(rows) == 2  # they leave their loop at different times


_ALONE = """\
  if (me == 0) then
    call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_REAL8, MPI_MIN, {comm}, ierr)
  end if
  call leave(all)
"""


@pytest.mark.parametrize(("comm", "alike"), [("MPI_COMM_SELF", True), ("all%grid", False)])
def test_a_rank_by_itself_waits_for_nobody(comm: str, alike: bool, tmp_path: Path) -> None:
    text = _PROGRAM.format(color="mod(me, 2)", comm="all%grid")
    found, _ = optimised(tmp_path, text.replace("  call leave(all)\n", _ALONE.format(comm=comm)))
    assert ("MPI_Allreduce" in {one.operation for one in found.transfers}) is alike
