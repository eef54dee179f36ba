"""Parallel loops in front of an exchange: divided into tiles with their directive, or refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from support.judging import SETTINGS, program, site, transformed
from support.mpi_run import OPENMPI, RUNTIME, Mpi, build, installed, run

_LOOP = """\
{directive}
do z = 1, nz
  do p = 1, np
    do i = 1, n
      t = dble(i*z) + p*me
      s(i,z,p) = t
    end do
  end do
end do
"""
_INSIDE = """\
do z = 1, nz
  {directive}
  do p = 1, np
    do i = 1, n
      t = dble(i*z) + p*me
      s(i,z,p) = t
    end do
  end do
  !$omp end parallel do
end do
"""
_SUMS = """\
!$omp parallel do reduction(+:last)
do z = 1, 3
  last = last + z
end do
"""
_SCALARS = "real(8) :: t\ninteger :: last\nlogical :: many\n"
_SETS = "t = 0\nlast = 0\nmany = .true.\n"
_PRIVATE = "!$omp parallel do private(i, p, t)"


def _text(directive: str, loop: str = _LOOP, after: str = "last = 1\n", before: str = "") -> str:
    nest = loop.format(directive=directive)
    return program(declare=_SCALARS, before=_SETS + before, nest=nest, after=after)


DIVIDED = {
    "private variables": _text(_PRIVATE),
    "an end": _text(_PRIVATE, f"{_LOOP}!$omp end parallel do\n"),
    "clauses that do not matter": _text(f"{_PRIVATE} shared(s) if(many) schedule(static)"),
    "two loops taken together": _text("!$omp parallel do collapse(2) private(i, t)"),
    "a loop inside": _text(_PRIVATE, _INSIDE),
    "firstprivate inside": _text("!$omp parallel do private(i) firstprivate(t)", _INSIDE),
    "a loop between": _text(_PRIVATE, _LOOP + _SUMS),
    "a fixed bound": _text("!$omp parallel do default(shared) private(i, p, t)"),
}
KEPT = {
    "reduction": (
        _text(f"{_PRIVATE} reduction(+:last)", _LOOP.replace("do i", "last = last + 1\n    do i")),
        "has REDUCTION",
    ),
    "lastprivate": (_text("!$omp parallel do private(i, p) lastprivate(t)"), "has LASTPRIVATE"),
    "firstprivate": (_text("!$omp parallel do private(i, p) firstprivate(t)"), "FIRSTPRIVATE"),
    "all are named": (
        _text("!$omp parallel do default(none) private(i, p, t) shared(s, me, np)"),
        "has DEFAULT(NONE)",
    ),
    "bounds that depend on each other": (
        _text("!$omp parallel do collapse(2) private(i, t)", _LOOP.replace("1, np", "1, np + 0*z")),
        "COLLAPSE",
    ),
    "a value behind it": (_text(_PRIVATE, after="last = int(t)\n"), "t has another value behind"),
    "the number of a thread": (
        _text(
            _PRIVATE,
            _LOOP.replace("t = dble(i*z)", "t = omp_get_thread_num() + dble(i*z)"),
        ).replace("implicit none\n", "implicit none\n  integer, external :: omp_get_thread_num\n"),
        "line 24 may ask for the number of the thread",
    ),
    "a directive that reads the buffer": (
        _text(f"{_PRIVATE} if(r(1,1,1) > 0)", before="r = 1\n"),
        "reads r, which is a buffer",
    ),
    "a directive in it": (
        _text(_PRIVATE, _LOOP.replace("t = dble", "!$omp simd\n      t = dble")),
        "has a directive",
    ),
    "a region": (
        _text(
            "!$omp parallel\n!$omp do private(i, p, t)",
            f"{_LOOP}!$omp end do\n!$omp end parallel\n",
        ),
        "it is a region with an end of its own",
    ),
    "another kind": (_text("!$omp parallel\n!$omp do private(i, p, t)"), "directive parallel"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVIDED)
def test_threads_share_the_iterations_of_a_tile(name: str, tmp_path: Path) -> None:
    text = DIVIDED[name]
    found = site(tmp_path, text)
    assert (found.report.verdict, found.report.message) == (
        "proved",
        "can be prepushed along z (every block)",
    )
    made = transformed(tmp_path, text)
    directives = [line.strip() for line in text.splitlines() if "!$omp" in line]
    assert [line.strip() for line in made.splitlines() if "!$omp" in line] == directives
    loop = re.search(r"!\$omp parallel do[^\n]*\n( *do .*?\n) *!\$omp|\Z", made, re.DOTALL)
    assert "call asphalt_x%progress" not in (loop[1] or "" if loop else "")


@pytest.mark.parametrize("name", KEPT)
def test_what_threads_share_beside_variables_keeps_a_loop_whole(name: str, tmp_path: Path) -> None:
    text, why = KEPT[name]
    report = site(tmp_path, text).report
    assert report.verdict == "refused"
    assert why in report.message
    assert report.code in ("ASP705", "ASP703")


def test_a_region_in_front_is_over(tmp_path: Path) -> None:
    region = "!$omp parallel\n!$omp do\ndo z = 1, 3\ns(1,1,z) = z\nend do\n!$omp end parallel\n"
    found = site(tmp_path, _text("", before=region)).report
    assert found.verdict == "proved", found.message


def test_tiles_of_a_parallel_loop_have_iterations_for_many_threads(tmp_path: Path) -> None:
    evidence = site(tmp_path, DIVIDED["private variables"]).report.evidence
    assert "a loop that threads share is tiled; a chosen K is a multiple of 16" in evidence
    alone = site(tmp_path, DIVIDED["private variables"].replace("!$omp", "! omp")).report.evidence
    assert not any("multiple" in line for line in alone)


QUICK = ("firstprivate inside",)
"""What the quick suite executes."""


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize(
    ("name", "tile"),
    [
        pytest.param(name, tile, marks=() if tile == 3 and name in QUICK else pytest.mark.wide)
        for name in DIVIDED
        for tile in (1, 3)
    ],
)
def test_threads_and_tiles_compute_what_the_program_computed(
    name: str, tile: int, mpi: Mpi, tmp_path: Path
) -> None:
    given = DIVIDED[name].replace("print *, sum(r)", "print *, me, r")
    (tmp_path / "exchange.f90").write_text(given)
    settings: Settings = replace(SETTINGS, cache=False)
    (change,) = Project(tmp_path, settings=settings).transform(tile, 2)
    printed = []
    for kind, text in (("given", given), ("made", change.after.decode())):
        for flags in (("-fopenmp",), ()):
            folder = tmp_path / f"{kind}{len(flags)}"
            folder.mkdir()
            (folder / "exchange.f90").write_text(text)
            header = "".join(
                f"integer, parameter :: asphalt_k_{one.site} = {one.tile}\n"
                f"integer, parameter :: asphalt_d_{one.site} = {one.depth}\n"
                for one in change.parameters
            )
            (folder / "asphalt_params.inc").write_text(header)
            sources = [*RUNTIME, folder / "exchange.f90"]
            built = build(mpi, sources, folder, ("-O2", "-w", f"-I{folder}", *flags))
            outcome = run(mpi, built, 3, threads=2)
            assert outcome.code == 0, outcome.stderr
            printed.append(sorted(outcome.stdout.splitlines()))
    assert printed[1:] == printed[:-1]


_SLABS = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: i, j, k, me, np, ierr
  real(8) :: t
  real(8), allocatable :: s(:,:), r(:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate (s(n,4*np), r(n,4*np))
  t = 1
{directive}  do k = 1, 4*np
    do i = 1, n
      t = i + k
      s(i,k) = t + me
    end do
  end do
  call MPI_Alltoall(s, 4*n, MPI_DOUBLE_PRECISION, r, 4*n, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
{after}  do j = 1, 4
    r(1,j) = r(1,j) + j{used}
  end do
  print *, sum(r)
  call MPI_Finalize(ierr)
end program exchange
"""
_ITS = "  !$omp parallel do private(i, t)\n"


@pytest.mark.parametrize(
    ("directive", "after", "used", "order"),
    [
        (_ITS, "", "", "free"),
        (_ITS, "  !$omp parallel do private(t)\n", "", "free"),
        ("", "  !$omp parallel do firstprivate(t)\n", " + t", "kept"),
        ("", "  !$omp parallel do private(i)\n", " + t", "kept"),
    ],
)
def test_what_each_thread_has_for_itself_orders_no_iterations(
    directive: str, after: str, used: str, order: str, tmp_path: Path
) -> None:
    text = _SLABS.format(directive=directive, after=after, used=used)
    report = site(tmp_path, text).report
    assert ("along k (slab)" in report.message) is (order == "free")
