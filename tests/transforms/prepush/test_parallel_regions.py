"""Exchanges and threads: nothing of the runtime stands in a parallel region; MPI gets its chances
between the tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.limits import HEADER
from asphalt.frontend.lexical.source_text import read_source
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.tree import Do, Unit, leaves, loops_of, units_in
from asphalt.output.write import write_tree
from asphalt.project import Project
from support.judging import SETTINGS
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run
from support.tiled_runs import with_values

MAIN = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 20, nz = 10, most = 4
  real(8) :: s(n, nz, most), r(n, nz, most)
  integer :: me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  r = 0
{calls}
  call MPI_Finalize(ierr)
contains
  subroutine show(name)
    character(*), intent(in) :: name
    integer(8) :: bits
    integer :: i, z, p
    bits = 0
    do p = 1, np
      do z = 1, nz
        do i = 1, n
          bits = ieor(ishftc(bits, 7), transfer(r(i,z,p), bits))
        end do
      end do
    end do
    print '(a,i4,i24)', name, me, bits
  end subroutine show
{procedures}
end program main
"""
PROCEDURE = """
  subroutine {name}()
    integer :: i, z, p
{nest}
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('{name}')
  end subroutine {name}
"""
NESTS = {
    "tiled": """\
    !$omp parallel do private(i, p)
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = sin(dble(i*z)) + p*me
        end do
      end do
    end do""",
    "inside": """\
    do z = 1, nz
      !$omp parallel do private(i)
      do p = 1, np
        do i = 1, n
          s(i,z,p) = sin(dble(i + z)) + p*me
        end do
      end do
      !$omp end parallel do
    end do""",
    "innermost": """\
    do z = 1, nz
      do p = 1, np
        !$omp parallel do
        do i = 1, n
          s(i,z,p) = sin(dble(i - 2*z)) + p*me
        end do
      end do
    end do""",
    "around": """\
    !$omp parallel do private(i, z)
    do p = 1, np
      do z = 1, nz
        do i = 1, n
          s(i,z,p) = cos(dble(i - z))
        end do
      end do
    end do""",
    "two_loops": """\
    !$omp parallel do collapse(2) private(i)
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = cos(dble(i*z)) - p*me
        end do
      end do
    end do""",
}
"""Which loop threads share: that over the planes, one in it, that over the blocks, two at once."""
TEXT = MAIN.format(
    calls="".join(f"  call {name}()\n" for name in NESTS),
    procedures="".join(PROCEDURE.format(name=name, nest=nest) for name, nest in NESTS.items()),
)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path, tuple[Path, ...]]:
    """The given file, what becomes of it, and the runtime that it needs."""
    given = tmp_path / "src" / "main.f90"
    given.parent.mkdir()
    given.write_text(TEXT)
    changes = Project(given, settings=SETTINGS).transform(3, 2)
    written = write_tree([given.parent], changes, tmp_path / "out")
    return given, tmp_path / "out" / "main.f90", tuple(written.runtime)


def calls_in(lines: list[str], node: Do | Unit) -> list[str]:
    """The calls of the runtime in the lines of a loop or a unit."""
    spans = [leaf.span for leaf in leaves(node) if leaf.span is not None]
    inside = lines[spans[0].first - 1 : spans[-1].last]
    return [line.strip() for line in inside if "asphalt_x%" in line and "(" in line]


def is_shared(lines: list[str], loop: Do) -> bool:
    """Whether the directive of a parallel loop stands in front of a loop."""
    return loop.head.span is not None and "!$omp parallel do" in lines[loop.head.span.first - 2]


def test_no_call_stands_in_a_parallel_region(
    trees: tuple[Path, Path, tuple[Path, ...]],
) -> None:
    _, made, _ = trees
    lines = made.read_text().splitlines()
    units = {unit.name: unit for unit in units_in(parse_file(read_source(made)))}
    progress = set()
    for name in NESTS:
        (region,) = (loop for loop in loops_of(units[name].body) if is_shared(lines, loop))
        assert calls_in(lines, region) == [], name
        calls = calls_in(lines, units[name])
        assert sum("%next_tile(" in call for call in calls) == 1, name
        if any("%progress(" in call for call in calls):
            progress.add(name)
    assert progress == {"inside", "innermost"}


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_threads_fill_tiles(mpi: Mpi, trees: tuple[Path, Path, tuple[Path, ...]]) -> None:
    given, made, runtime = trees
    flags = ["-O2", "-fopenmp", "-w"]
    expected = run(mpi, build(mpi, [given], given.parent, flags), 3, threads=2)
    assert expected.code == 0, expected.stderr
    assert len(expected.stdout.splitlines()) == 3 * len(NESTS)
    header = made.with_name(HEADER).read_text()
    for tile in (1, 3):
        made.with_name(HEADER).write_text(with_values(header, tile, 2))
        outcome = run(mpi, build(mpi, [*runtime, made], made.parent, flags), 3, threads=2)
        assert outcome.code == 0, outcome.stderr
        assert sorted(outcome.stdout.splitlines()) == sorted(expected.stdout.splitlines()), tile
