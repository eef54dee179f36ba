"""Transformed programs print exactly what the originals print, on every MPI that is installed.

The tree in ``transformed/`` holds one procedure for each kind of input; ``main.f90`` calls all of
them and prints a hash of what every rank has received.  K and D are those of the header, so that
one transformation is built several times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.project import Project
from support.mpi_run import (
    MPICH,
    OPENMPI,
    RUNTIME,
    SMPI,
    Mpi,
    compile_source,
    installed,
    link,
    run,
    runtime_flags,
)
from support.places import TRANSFORMED

SOURCES = TRANSFORMED
# in the order in which they are compiled
FILES = (
    "showing.f90",
    "blocks.f90",
    "slabs.f90",
    "flat.f90",
    "uneven.f90",
    "clones.f90",
    "windows.f90",
    "called.f90",
    "plans.f90",
    "storage.f90",
    "modern.f90",
    "upper.f90",
    "layout.f90",
    "strided.f90",
    "direct.f90",
    "legacy.f",
    "main.f90",
)
CHECKED = ("-O1", "-fcheck=all", "-Wall")
# ranks have as many planes, but not the same, and find out when they enter
DIFFERING = {"other_planes"}
# one rank alone: launchers mix what several ranks print, within lines
TELL = b"""\
subroutine tell(site)
  use mpi, only: MPI_Comm_rank, MPI_COMM_WORLD
  implicit none
  character(*), intent(in) :: site
  integer :: me, ierr
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  if (me == 0) write (0, '(a)') ' tiled '//site
end subroutine tell
"""
NO_F08 = b"""\
module modern
contains
  subroutine modern_exchanges(np, me)
    integer, intent(in) :: np, me
    if (np < me) stop 1
  end subroutine modern_exchanges
end module modern
"""


@cache
def project() -> Project:
    return Project(SOURCES, settings=Settings(cache=False, jobs=1))


@cache
def changes() -> tuple[Change, ...]:
    return project().transform()


@dataclass(frozen=True, slots=True)
class Version:
    """The original (``tile`` None), or what it is transformed to, with one K and D for all sites.

    ``telling``: a call is added at every site that prints its name, on rank 0, if it is tiled.
    """

    tile: int | None = None
    depth: int = 1
    flags: tuple[str, ...] = CHECKED
    telling: bool = False

    def write(self, folder: Path, mpi: Mpi) -> list[Path]:
        """Write the sources; gives them in the order in which they are compiled."""
        texts = {name: (SOURCES / name).read_bytes() for name in FILES}
        if self.tile is not None:
            for change in changes():
                texts[change.path.name] = _telling(change.after) if self.telling else change.after
            (folder / "asphalt_params.inc").write_text(self._header())
            texts = {source.name: source.read_bytes() for source in RUNTIME} | texts
        if self.telling:
            texts["tell.f90"] = TELL
        if mpi is SMPI:
            texts["modern.f90"] = NO_F08
        for name, content in texts.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in texts]

    def _header(self) -> str:
        sites = [parameter.site for change in changes() for parameter in change.parameters]
        return "".join(
            f"      integer, parameter :: asphalt_{kind}_{site} = {value}\n"
            for site in sites
            for kind, value in (("k", self.tile), ("d", self.depth))
        )


def _telling(content: bytes) -> bytes:
    site, lines, begun = "", [], ""
    for line in content.decode().splitlines():
        if found := re.search(r"asphalt: \w+ of site '(\w+)'", line, re.IGNORECASE):
            site = found[1].lower()
        if begins := re.match(r" +call (\w+)%begin", line, re.IGNORECASE):
            begun = begins[1]
        first = rf"( +)do(?: while \({begun}%next_tile\(.*\)\))?$"
        if begun and (tiles := re.match(first, line, re.IGNORECASE)):
            tells = (f"if ({begun}%tiled) then", f"call tell('{site}')", "end if")
            lines += [tiles[1] + text for text in tells]
            begun = ""
        lines.append(line)
    return "\n".join([*lines, ""]).encode()


@dataclass(frozen=True, slots=True)
class Build:
    """A program, and the warnings of its files (without the runtime)."""

    mpi: Mpi
    program: Path
    warnings: Mapping[str, Counter[str]]

    def output(self, ranks: int) -> tuple[list[str], set[str]]:
        """What it prints, and the sites that it says it tiles."""
        outcome = run(self.mpi, self.program, ranks)
        assert outcome.code == 0, f"{self.program}, {ranks} ranks\n{outcome.stderr}"
        return outcome.stdout.splitlines(), set(re.findall(r" tiled (\w+)", outcome.stderr))


def built(version: Version, mpi: Mpi, folder: Path) -> Build:
    folder.mkdir()
    warnings: dict[str, Counter[str]] = {}
    objects = []
    for source in version.write(folder, mpi):
        runtime = source.stem in RUNTIME_MODULES
        flags = [*(runtime_flags(version.flags) if runtime else version.flags), "-I."]
        # SMPI has no interfaces, and calls with buffers of several types differ
        if mpi is SMPI and not runtime:
            flags.append("-fallow-argument-mismatch")
        outcome = compile_source(mpi, source, folder, flags)
        assert outcome.code == 0, f"{mpi} {version} {source.name}\n{outcome.stderr}"
        if not runtime:
            warnings[source.name] = Counter(_without_places(w) for w in outcome.warnings)
        objects.append(f"{source.stem}.o")
    return Build(mpi, link(mpi, objects, folder, version.flags), warnings)


def _without_places(warning: str) -> str:
    return re.sub(r"\d+", "", warning)


def assert_no_new_warnings(original: Build, transformed: Build) -> None:
    for name, found in transformed.warnings.items():
        new = found - original.warnings.get(name, Counter())
        assert not new, f"{transformed.program.parent / name}: {new}"


def test_all_sites_are_proved() -> None:
    assert project().problems == ()
    found = [(site.name, site.verdict) for site in project().sites()]
    assert [name for name, verdict in found if verdict != "proved"] == []
    assert len(found) >= 21


TILINGS = {OPENMPI: (3, 2), MPICH: (2, 100)}  # K, D; all of them under all are wide


@dataclass(frozen=True, slots=True)
class Originals:
    """The original, and what it prints: that is the same under every MPI."""

    build: Build
    expected: Mapping[int, list[str]]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Originals:
    mpi = installed(OPENMPI, MPICH)[0]
    build = built(Version(), mpi, tmp_path_factory.mktemp("originals") / "original")
    return Originals(build, {ranks: build.output(ranks)[0] for ranks in (1, 3, 4)})


@pytest.mark.parametrize(
    "mpi",
    [m if m is OPENMPI else pytest.param(m, marks=pytest.mark.wide) for m in installed(*TILINGS)],
    ids=str,
)
def test_the_same_is_printed(mpi: Mpi, originals: Originals, tmp_path: Path) -> None:
    transformed = built(Version(*TILINGS[mpi], telling=True), mpi, tmp_path / "transformed")
    if mpi is originals.build.mpi:  # others have other interfaces
        assert_no_new_warnings(originals.build, transformed)
    for ranks, expected in originals.expected.items():
        assert len(expected) >= 35
        found, tiled = transformed.output(ranks)
        assert found == expected, f"{TILINGS[mpi]}, {ranks} ranks"
    assert tiled == {site.name for site in project().sites()} - DIFFERING


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(), ids=str)
@pytest.mark.parametrize(
    "flags",
    [("-O0", "-fcheck=all", "-Wall"), ("-O3", "-Wall"), ("-O2", "-Wall")],
    ids=lambda flags: flags[0],
)
def test_the_same_is_printed_with_all_tilings(
    mpi: Mpi, flags: tuple[str, ...], tmp_path: Path
) -> None:
    original = built(Version(flags=flags), mpi, tmp_path / "original")
    expected = {ranks: original.output(ranks)[0] for ranks in range(1, 5)}
    for tile, depth in ((0, 4), (1, 1), (1, 3), (2, 2), (4, 9), (1000, 1)):
        version = Version(tile, depth, flags)
        transformed = built(version, mpi, tmp_path / f"k{tile}d{depth}")
        assert_no_new_warnings(original, transformed)
        for ranks, lines in expected.items():
            found, _ = transformed.output(ranks)
            assert found == lines, f"{version}, {ranks} ranks"
