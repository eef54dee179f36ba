"""Times of the versions of a kernel, and what they say about overlap."""

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
    """What the time of the original is made of, in seconds.

    ``before`` is the computation before the exchange, which prepushing may hide behind
    ``communication``, or the other way round; ``after`` the computation after it, which it may not.
    ``adds_up``: whether there is no time beside; ranks that wait for each other in turn, or one
    message after the other, leave no floor to be known.
    ``exchange``: what the communication takes with the fastest algorithm that was seen; None: the
    original's.
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
        """The same, known that another algorithm for the exchange makes it so many seconds in all,
        without any overlap."""
        exchange = not_overlapped - self.before - self.after
        return replace(self, exchange=min(self.communication, exchange))

    def efficiency(self, seconds: float) -> float | None:
        """The part of what could be hidden that is hidden in a run of ``seconds``; None where
        there is nothing to hide, or the floor is not known."""
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
        """The kernel and, where it has several, the variant."""
        return f"{self.kernel} ({self.variant})" if self.variant else self.kernel

    def ratio(self, version: str) -> float:
        """The time divided by the original's: below 1 it is faster."""
        return self.seconds[version] / self.seconds["original"]

    def efficiency(self, version: str) -> float | None:
        """Overlap efficiency, where the parts of the original's time are known."""
        return None if self.parts is None else self.parts.efficiency(self.seconds[version])

    def rows(self) -> Iterator[Row]:
        """One row a version."""
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
    """What a row calls a kernel."""
    return f"{kernel}/{variant}" if variant else kernel


@dataclass(frozen=True, slots=True)
class Simulator:
    """Runs programs on one simulated platform."""

    platform: Platform = TEN_GIGABIT
    timeout: float = 3600.0

    def run(self, program: Path, ranks: int, shared: bool = False) -> Run:
        """One run; its time is the same in every repeat, so that it is kept beside the program.

        ``shared``: big arrays of different ranks share memory; what is printed means nothing.
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
        """How a version is built for this measurement."""
        shared = what.shares_memory
        return Recipe(case, version, SMPI, what.sizes, what.charge, tiling, ("-O2",), shared)

    def time(self, recipe: Recipe, ranks: int) -> Run:
        """Builds and runs."""
        return self.run(build(recipe), ranks, recipe.shared)

    def version(self, case: Case, what: Simulated, version: str, tiling: Tiling | None) -> Run:
        """One version of a kernel at one K and D; None: as it chooses itself."""
        return self.time(self.recipe(case, what, version, tiling), what.ranks)

    def parts(self, case: Case, what: Simulated) -> tuple[Parts, Run]:
        """The original's time taken apart, by charging less; and its run with all charges."""
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
        """All versions at one K and D; raises LabError where their results differ."""
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
    """Compares the results of a version with the original's, at small sizes, without sharing memory
    and on a network that costs nothing: 64 ranks take a tenth of the time to simulate.

    Raises LabError where they differ.
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
    """How a recipe is run for its results under an MPI."""
    return run_smpi if mpi is SMPI else run_real


@dataclass(frozen=True, slots=True)
class Series:
    """All times of interleaved runs over the link, in seconds, by version; ``alone``: the original
    with shared memory, where its exchange is no more than a copy.  ``unended``: runs that told
    their time and did not come to their end."""

    case: Case
    platform: str
    tiling: Tiling | None
    times: Mapping[str, tuple[float, ...]]
    alone: tuple[float, ...]
    slow: bool
    unended: int = 0

    def measured(self) -> Measured:
        """The medians; what the original computes is its time alone, the rest communication."""
        medians = {name: median(values) for name, values in self.times.items()}
        whole, computation = medians["original"], median(self.alone)
        parts = None
        if self.slow and 0 < computation < whole:
            parts = Parts(whole, computation, whole - computation, 0.0)
        return Measured(self.case.name, "", self.platform, 2, self.tiling, parts, medians)


def link_recipes(case: Case, link: Link, versions: Iterable[str], mpi: Mpi) -> dict[str, Recipe]:
    """How the original and the versions are built for the link."""
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
    """Times of interleaved runs on two ranks; raises LabError where results differ."""
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
