"""Checks that all versions of a kernel give the same results, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from asphalt.running.mpi import Mpi
from bench.lab.build import Recipe, build
from bench.lab.case import Case, Tiling
from bench.lab.measure import runner
from bench.lab.run import LabError


@dataclass(frozen=True, slots=True)
class Check:
    """One version of a kernel against the original, under one MPI, on one number of ranks."""

    case: Case
    version: str
    mpi: Mpi
    ranks: int
    tiling: Tiling | None = None
    flags: tuple[str, ...] = ("-O3",)

    @property
    def recipe(self) -> Recipe:
        """The program to check."""
        return Recipe(self.case, self.version, self.mpi, tiling=self.tiling, flags=self.flags)

    @property
    def reference(self) -> Recipe:
        """The program to compare with."""
        return replace(self.recipe, version="original", tiling=None)

    def run(self) -> str | None:
        """None if the results are equal, else a message."""
        where = f"{self.case.name}, {self.version}, {self.mpi.name}, {self.ranks} ranks"
        run = runner(self.mpi)
        try:
            expected = run(self.reference, self.ranks).output
            found = run(self.recipe, self.ranks).output
        except LabError as error:
            return f"{where}: {error}"
        if len(expected.splitlines()) != self.ranks:
            return f"{where}: the original did not print one line a rank"
        if found != expected:
            return f"{where}: results differ\n{difference(expected, found)}"
        return None


def difference(expected: bytes, found: bytes) -> str:
    """The first line that differs, from both sides."""
    lines = zip(
        expected.decode("latin-1").splitlines(),
        found.decode("latin-1").splitlines(),
        strict=False,
    )
    for original, other in lines:
        if original != other:
            return f"  original: {original}\n  other:    {other}"
    return "  one output is longer than the other"


def checks_of(
    cases: tuple[Case, ...], versions: tuple[str, ...], mpis: tuple[Mpi, ...]
) -> Iterator[Check]:
    """All versions against the original under all MPIs, at a K that does not divide."""
    for case in cases:
        tiling = case.tiling[1] if case.tiling else None
        for mpi in mpis:
            for version in versions:
                for ranks in case.ranks:
                    yield Check(case, version, mpi, ranks, tiling)


def build_both(check: Check) -> None:
    """Builds the two programs of a check; raises LabError."""
    build(check.reference)
    build(check.recipe)
