"""Random procedures: what is proved is transformed, and prints what it printed before."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.diagnostics.change import Change
from asphalt.project import Project
from support.judging import SETTINGS
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, compile_source, installed, link, run
from support.places import TRANSFORMED
from support.random_programs import random_program

SHOWING = TRANSFORMED / "showing.f90"
MAIN = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 3, nz = 5
  integer :: np, me, ierr
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
{calls}  call MPI_Finalize(ierr)
end program main
"""


def write_tree(folder: Path, seed: int, procedures: int) -> list[Path]:
    """The sources of a random program, in the order in which they are compiled."""
    text, calls = random_program(seed, procedures)
    folder.mkdir()
    main = MAIN.format(calls="".join(f"  {call}" for call in calls))
    texts = {"showing.f90": SHOWING.read_text(), "cases.f90": text, "main.f90": main}
    for name, content in texts.items():
        (folder / name).write_text(content)
    return [folder / name for name in texts]


def transform(folder: Path, tile: int, depth: int) -> tuple[Change, ...]:
    """Transform a tree in its place."""
    changes = Project(folder, settings=SETTINGS).transform()
    header = ""
    for change in changes:
        change.path.write_bytes(change.after)
        for parameter in change.parameters:
            header += f"integer, parameter :: asphalt_k_{parameter.site} = {tile}\n"
            header += f"integer, parameter :: asphalt_d_{parameter.site} = {depth}\n"
    (folder / "asphalt_params.inc").write_text(header)
    return changes


def built(mpi: Mpi, sources: list[Path], flags: tuple[str, ...]) -> Path:
    folder = sources[-1].parent
    objects = []
    for source in sources:
        outcome = compile_source(mpi, source, folder, [*flags, "-I."])
        assert outcome.code == 0, f"{source}\n{outcome.stderr}"
        objects.append(f"{source.stem}.o")
    return link(mpi, objects, folder, flags)


def lines(mpi: Mpi, program: Path, ranks: int) -> list[str]:
    outcome = run(mpi, program, ranks)
    assert outcome.code == 0, f"{program}, {ranks} ranks\n{outcome.stderr}"
    return outcome.stdout.splitlines()


def compare(
    mpi: Mpi, folder: Path, seed: int, procedures: int, tilings: list[tuple[int, int]], flags: str
) -> None:
    """Build and run the program of a seed before and after."""
    options = tuple(flags.split())
    original = built(mpi, write_tree(folder / "original", seed, procedures), options)
    expected = {ranks: lines(mpi, original, ranks) for ranks in (1, 2, 3)}
    for tile, depth in tilings:
        sources = write_tree(folder / f"k{tile}d{depth}", seed, procedures)
        changes = transform(sources[0].parent, tile, depth)
        assert sum(len(change.sites) for change in changes) > procedures // 3
        transformed = with_runtime(mpi, sources, options)
        for ranks, before in expected.items():
            after = lines(mpi, transformed, ranks)
            different = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
            assert not different, f"seed {seed}, K={tile}, D={depth}, {ranks} ranks"


def with_runtime(mpi: Mpi, sources: list[Path], options: tuple[str, ...]) -> Path:
    return built(mpi, [*RUNTIME, *sources], options)


@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI)[:1], ids=str)
def test_some_procedures(mpi: Mpi, tmp_path: Path) -> None:
    compare(mpi, tmp_path, 1, 15, [(2, 2)], "-O1 -fcheck=all")


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI)[:1], ids=str)
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_procedures(mpi: Mpi, seed: int, tmp_path: Path) -> None:
    compare(mpi, tmp_path, seed, 40, [(1, 1), (2, 3), (3, 1), (100, 2)], "-O1 -fcheck=all")
