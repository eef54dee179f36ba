"""Blocks of MPI_ALLTOALLV whose counts and displacements are numbers of bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.running.mpi import MPICH, OPENMPI
from support.mpi_run import RUNTIME, Mpi, build, installed, run

_PROGRAM = """\
program bytes
  use mpi
  implicit none
  integer, parameter :: wide = kind(1d0), planes = 7
  complex(wide), allocatable :: s(:)
  complex(wide), allocatable :: r(:)
  integer, allocatable :: counts(:), places(:), comes(:), lands(:)
  integer :: me, np, ierr, p, z, i, at
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(counts(0:np-1), places(0:np-1), comes(0:np-1), lands(0:np-1))
  do p = 0, np - 1
    counts(p) = {size}*planes*(p + 2)
    comes(p) = {size}*planes*(me + 2)
    lands(p) = {size}*planes*(me + 2)*p
  end do
  places(0) = {begin}
  do p = 1, np - 1
    places(p) = places(p-1) + counts(p-1)
  end do
  allocate(s(planes*np*(np + 2) + 1), r(planes*(me + 2)*np))
  s = 0
  r = 0
  do p = 0, np - 1
    at = {first}
    do z = 1, planes
      do i = 1, p + 2
        s(at) = {value}
        at = at + 1
      end do
    end do
  end do
  call MPI_Alltoallv(s, counts, places, {send}, r, comes, lands, {receive}, MPI_COMM_WORLD, ierr)
  print '(i3,4(1x,z16.16))', me, transfer(sum(real(r)), 1_8), transfer(sum(aimag(r)), 1_8)
  call MPI_Finalize(ierr)
end program bytes
"""


def text(
    size: str = "2*wide",
    begin: str = "0",
    first: str = "places(p)/(2*wide) + 1",
    value: str = "cmplx(sqrt(dble(z*i)), p + 10*me, wide)",
    send: str = "MPI_BYTE",
    receive: str = "MPI_BYTE",
) -> str:
    return _PROGRAM.format(
        size=size, begin=begin, first=first, value=value, send=send, receive=receive
    )


def verdict(folder: Path, source: str) -> str:
    (folder / "bytes.f90").write_text(source)
    (site,) = Project(folder, settings=Settings(cache=False, jobs=1)).sites()
    return site.verdict


@pytest.mark.parametrize("first", ["places(p)/(2*wide) + 1", "1 + places(p)/16"])
def test_whole_elements_are_tiled(first: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, text(first=first)) == "proved"


@pytest.mark.parametrize(
    "source",
    [
        text(first="places(p)/wide + 1"),  # of half an element
        text(first="places(p) + 1"),
        text(first="(places(p) + 1)/16 + 1"),
        text(receive="MPI_DOUBLE_COMPLEX"),
        text(send="MPI_CHARACTER", receive="MPI_CHARACTER"),
        text().replace("complex(wide), allocatable :: r", "complex(4), allocatable :: r"),
    ],
    ids=["half", "elements", "rounded", "mixed", "characters", "narrow"],
)
def test_others_are_not(source: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, source) == "refused"


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
@pytest.mark.parametrize("begin", ["0", "16", "4"])
def test_the_same_is_received(begin: str, mpi: Mpi, tmp_path: Path) -> None:
    """Also where blocks begin inside of elements: the run finds out, and makes the call."""
    given, made = tmp_path / "given", tmp_path / "made"
    given.mkdir()
    (given / "bytes.f90").write_text(text(begin=begin))
    assert main(["apply", str(given), "-o", str(made), "--tile", "2", "--no-cache"]) == 0
    assert "asphalt_p%begin_packed" in (made / "bytes.f90").read_text()
    printed = []
    for source in (given / "bytes.f90", made / "bytes.f90"):
        place = tmp_path / f"built{len(printed)}"
        place.mkdir()
        program = build(mpi, [*RUNTIME, source], place, ["-O2", f"-I{made}"])
        outcomes = [run(mpi, program, ranks) for ranks in (1, 2, 3, 4)]
        assert [outcome.code for outcome in outcomes] == [0, 0, 0, 0]
        printed.append([sorted(outcome.stdout.splitlines()) for outcome in outcomes])
    assert printed[0] == printed[1]
