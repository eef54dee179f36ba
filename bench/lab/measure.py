"""Measures the versions of a kernel, and their overlap efficiency."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from asphalt.running.mpi import OPENMPI, SMPI, Mpi
from bench.lab.build import Recipe, build
from bench.lab.case import Case, Link, Simulated, Tiling
from bench.lab.link import LinkLab
from bench.lab.platforms import FREE, TEN_GIGABIT, Platform
from bench.lab.rows import NOT_OVERLAPPED, NOT_TILED, Row
from bench.lab.run import LabError, Run, run_program, same_output

NOTHING_TO_HIDE = 1e-3  # of the original's time
# Arrays from this many bytes on share memory; and what happens within a microsecond is solved
# together, which takes half the time and changes times by a thousandth at most.
MANY_RANKS = {"smpi/auto-shared-malloc-thresh": "1000000", "surf/precision": "1e-6"}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the original's time, in seconds.

    ``before``: the computation before the exchange, which can overlap with ``communication``;
    ``after``: the computation after it, which cannot.  ``adds_up``: whether the parts are the whole
    time; if ranks wait for each other in turn, the floor is unknown.  ``exchange``: the time of the
    communication with the fastest algorithm; None: the original's.
    """

    original: float
    before: float
    communication: float
    after: float
    adds_up: bool = True
    exchange: float | None = None

    @property
    def floor(self) -> float:
        """The shortest time that hiding can reach."""
        exchange = self.communication if self.exchange is None else self.exchange
        return max(self.before, exchange) + self.after

    def beside(self, not_overlapped: float) -> Parts:
        """These parts, if another algorithm gives ``not_overlapped`` seconds without overlap."""
        exchange = not_overlapped - self.before - self.after
        return replace(self, exchange=min(self.communication, exchange))

    def efficiency(self, seconds: float) -> float | None:
        """The part hidden of what can be hidden, in a run of ``seconds``.

        None if nothing can be hidden, or the floor is unknown.
        """
        hidden = self.original - self.floor
        if not self.adds_up or hidden <= NOTHING_TO_HIDE * self.original:
            return None
        return (self.original - seconds) / hidden


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: the times of the versions of a kernel on one platform, in seconds."""

    kernel: str
    variant: str
    platform: str
    ranks: int
    tiling: Tiling | None
    parts: Parts | None
    seconds: Mapping[str, float]

    @property
    def title(self) -> str:
        """The kernel and, if it has several, the variant."""
        return f"{self.kernel} ({self.variant})" if self.variant else self.kernel

    def ratio(self, version: str) -> float:
        """The time divided by the original's: below 1 it is faster."""
        return self.seconds[version] / self.seconds["original"]

    def efficiency(self, version: str) -> float | None:
        """The overlap efficiency, if the parts of the original's time are known."""
        return None if self.parts is None else self.parts.efficiency(self.seconds[version])

    def rows(self) -> Iterator[Row]:
        """A row for each version."""
        for version, seconds in self.seconds.items():
            tile, depth = (None if version in NOT_TILED else self.tiling) or (None, None)
            yield Row(
                kernel_name(self.kernel, self.variant),
                version,
                self.platform,
                self.ranks,
                tile,
                depth,
                seconds,
                self.ratio(version),
                self.efficiency(version),
            )


def kernel_name(kernel: str, variant: str) -> str:
    """The name of a kernel in rows."""
    return f"{kernel}/{variant}" if variant else kernel


@dataclass(frozen=True, slots=True)
class Simulator:
    """Runs programs on one simulated platform."""

    platform: Platform = TEN_GIGABIT
    timeout: float = 3600.0

    def run(self, program: Path, ranks: int, shared: bool = False) -> Run:
        """One run; its time is the same in every repeat, so it is cached beside the program.

        ``shared``: big arrays of different ranks share memory, and the output is meaningless.
        """
        settings = MANY_RANKS if shared else {}
        key = hashlib.sha256(repr((self.platform.key, ranks, settings)).encode()).hexdigest()[:16]
        kept = program.parent / f"run-{key}.json"
        if kept.exists():
            data = json.loads(kept.read_text(encoding="utf-8"))
            return Run(data["output"].encode("latin-1"), data["seconds"])
        command = self.platform.command(ranks, program, settings)
        run = run_program(command, program.parent, self.timeout)
        data = {"output": run.output.decode("latin-1"), "seconds": run.seconds}
        with tempfile.NamedTemporaryFile("w", dir=program.parent, delete=False) as file:
            file.write(json.dumps(data))
        os.replace(file.name, kept)
        return run

    def recipe(self, case: Case, what: Simulated, version: str, tiling: Tiling | None) -> Recipe:
        """The recipe of a version for this measurement."""
        shared = what.shares_memory
        return Recipe(case, version, SMPI, what.sizes, what.charge, tiling, ("-O2",), shared)

    def time(self, recipe: Recipe, ranks: int) -> Run:
        """Build and run."""
        return self.run(build(recipe), ranks, recipe.shared)

    def version(self, case: Case, what: Simulated, version: str, tiling: Tiling | None) -> Run:
        """One version of a kernel with one K and D; None: its defaults."""
        return self.time(self.recipe(case, what, version, tiling), what.ranks)

    def parts(self, case: Case, what: Simulated) -> tuple[Parts, Run]:
        """The parts of the original's time, from runs with fewer charges; and its full run."""
        recipe = self.recipe(case, what, "original", None)
        whole = self.time(recipe, what.ranks)
        nothing = dict.fromkeys(what.charge, 0)
        bare = self.time(replace(recipe, charge=nothing), what.ranks).seconds
        after = 0.0
        if "charge_after" in what.charge:
            later = nothing | {"charge_after": what.charge["charge_after"]}
            after = self.time(replace(recipe, charge=later), what.ranks).seconds - bare
        before = whole.seconds - bare - after
        return Parts(whole.seconds, before, bare, after, what.adds_up), whole

    def measure(
        self, case: Case, what: Simulated, versions: Iterable[str], tiling: Tiling
    ) -> Measured:
        """All versions with one K and D; raises LabError if their results differ."""
        parts, whole = self.parts(case, what)
        seconds = {"original": whole.seconds}
        for version in versions:
            run = self.version(case, what, version, tiling)
            same_output(whole, run, f"{case.name}: {version} (SMPI)")
            seconds[version] = run.seconds
        if NOT_OVERLAPPED in seconds:
            parts = parts.beside(seconds[NOT_OVERLAPPED])
        title = self.platform.title
        return Measured(case.name, what.variant, title, what.ranks, tiling, parts, seconds)


def check_results(case: Case, what: Simulated, version: str, tiling: Tiling | None) -> None:
    """Compare the results of a version with the original's, at small sizes.

    Ranks do not share memory, and messages cost nothing, which makes the simulation of 64 ranks ten
    times faster.  Raises LabError if the results differ.
    """

    def small(name: str, given: Tiling | None) -> Run:
        recipe = Recipe(case, name, SMPI, what.small, what.charge, given, ("-O2",))
        return Simulator(FREE).time(recipe, what.ranks)

    where = f"on {what.ranks} ranks at {tiling or 'its own K and D'}"
    same_output(
        small("original", None),
        small(version, tiling),
        f"{kernel_name(case.name, what.variant)}: {version} {where}",
    )


def run_real(recipe: Recipe, ranks: int, timeout: float = 120.0) -> Run:
    """One run of a recipe on this machine."""
    program = build(recipe)
    return run_program(recipe.mpi.command(ranks, program), program.parent, timeout)


def run_smpi(recipe: Recipe, ranks: int) -> Run:
    """One run of a recipe on the simulated cluster, for its results."""
    return Simulator().run(build(recipe), ranks)


def runner(mpi: Mpi) -> Callable[[Recipe, int], Run]:
    """The function that runs a recipe for its results under an MPI."""
    return run_smpi if mpi is SMPI else run_real


@dataclass(frozen=True, slots=True)
class Series:
    """The times of interleaved runs over the link, in seconds, by version.

    ``alone``: the original with shared memory, where its exchange is only a copy.  ``unended``: the
    number of runs that printed their time but did not end.
    """

    case: Case
    platform: str
    tiling: Tiling | None
    times: Mapping[str, tuple[float, ...]]
    alone: tuple[float, ...]
    slow: bool
    unended: int = 0

    def measured(self) -> Measured:
        """The medians; the computation of the original is its time with shared memory."""
        medians = {name: median(values) for name, values in self.times.items()}
        whole, computation = medians["original"], median(self.alone)
        parts = None
        if self.slow and 0 < computation < whole:
            parts = Parts(whole, computation, whole - computation, 0.0)
        return Measured(self.case.name, "", self.platform, 2, self.tiling, parts, medians)


def link_recipes(case: Case, link: Link, versions: Iterable[str], mpi: Mpi) -> dict[str, Recipe]:
    """The recipes of the original and the versions for the link."""
    found = {}
    for name in ("original", *versions):
        asked = None if name in NOT_TILED else link.best
        passes = link.passes if name == "transformed" else ()
        found[name] = Recipe(case, name, mpi, link.sizes, tiling=asked, passes=passes)
    return found


def measure_link(
    lab: LinkLab,
    case: Case,
    link: Link,
    versions: Iterable[str],
    repeats: int,
    mpi: Mpi = OPENMPI,
) -> Series:
    """The times of interleaved runs on two ranks; raises LabError if results differ."""
    if missing := mpi.missing():
        raise LabError(f"{mpi.title}: no {', '.join(missing)} (packages {' '.join(mpi.packages)})")
    recipes = link_recipes(case, link, versions, mpi)
    names = tuple(recipes)
    programs = {name: build(recipe) for name, recipe in recipes.items()}
    times: dict[str, list[float]] = {name: [] for name in names}
    alone = []
    unended = 0
    reference: Run | None = None
    for _ in range(repeats):
        for name in names:
            command = lab.command(programs[name], mpi)
            run = run_program(command, programs[name].parent, 60.0, time_is_enough=True)
            unended += not run.ended
            times[name].append(run.seconds)
            reference = reference or run
            same_output(reference, run, f"{case.name}: {name} (link)")
        original = programs["original"]
        alone.append(run_program(mpi.command(2, original), original.parent, 120.0).seconds)
    return Series(
        case,
        lab.title(mpi),
        link.best,
        {name: tuple(values) for name, values in times.items()},
        tuple(alone),
        lab.agent is not None,
        unended,
    )
