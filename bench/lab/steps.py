"""What each transformation adds: speed-ups on simulated clusters, after figures 4 to 8 of Danalis,
Pollock, Swany and Cavazos, ICS 2009.

Splitting a transfer gains nothing unless something moves into its window, and motion moves nothing
into the window of a transfer that is blocking: these two begin together.  The other transformations
are added in the order in which the optimiser applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from asphalt.passes import TRANSFERS
from asphalt.transforms import motion, nonblocking
from bench.lab.build import Recipe
from bench.lab.case import Case, Simulated
from bench.lab.jobs import AT_ONCE, told
from bench.lab.measure import Simulator
from bench.lab.platforms import named
from bench.lab.rows import ADDED, Row
from bench.lab.run import LabError, Run, same_output

KERNELS = (
    "lu_wavefront",
    "lu_precondition",
    "ocean_gather",
    "ocean_sum",
    "multigrid_smooth",
    "halo_2d",
)
FIRST = (nonblocking.NAME, motion.NAME)
ORIGINAL, HAND = "original", "hand"


@dataclass(frozen=True, slots=True)
class Added:
    """The transformations up to one; ``name``: that one."""

    name: str
    passes: tuple[str, ...]

    @property
    def version(self) -> str:
        """What a row calls it."""
        return f"{ADDED}{self.name}"


def steps() -> tuple[Added, ...]:
    """The sets of transformations, each with one more than the one before."""
    others = [name for name in TRANSFERS if name not in FIRST]
    sets = [Added("-".join(FIRST), FIRST)]
    for number, name in enumerate(others, 1):
        chosen = {*FIRST, *others[:number]}
        sets.append(Added(name, tuple(name for name in TRANSFERS if name in chosen)))
    return tuple(sets)


@dataclass(frozen=True, slots=True)
class Stepped:
    """The times of one kernel on one platform in seconds, by version."""

    case: Case
    what: Simulated
    platform: str
    seconds: Mapping[str, float]

    def speed_up(self, version: str) -> float:
        """The original's time divided by that of a version."""
        return self.seconds[ORIGINAL] / self.seconds[version]

    def rows(self) -> Iterator[Row]:
        """One row a version."""
        for version, seconds in self.seconds.items():
            tile, depth = self.what.best if version == HAND and self.what.tilings else (None, None)
            ratio = seconds / self.seconds[ORIGINAL]
            yield Row(
                self.case.name, version, self.platform, self.what.ranks, tile, depth, seconds,
                ratio, None,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel on one platform."""

    case: Case
    what: Simulated

    @property
    def simulator(self) -> Simulator:
        """What runs it."""
        return Simulator(named(self.what.platform))

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """How each version is built, the original first."""
        recipe = self.simulator.recipe
        hand = self.what.best if self.what.tilings else None
        whole = recipe(self.case, self.what, "transformed", None)
        return {
            ORIGINAL: recipe(self.case, self.what, ORIGINAL, None),
            HAND: recipe(self.case, self.what, HAND, hand),
            **{added.version: replace(whole, passes=added.passes) for added in steps()},
        }

    def run(self, recipe: Recipe) -> Callable[[], Run]:
        """Builds and runs a version."""
        return partial(self.simulator.time, recipe, self.what.ranks)

    def measured(self, runs: Mapping[str, Run]) -> Stepped:
        """What the runs of all versions say; raises LabError where one computes something else
        than the original."""
        for version, run in runs.items():
            same_output(runs[ORIGINAL], run, f"{self.case.name}: {version} (SMPI)")
        seconds = {version: run.seconds for version, run in runs.items()}
        return Stepped(self.case, self.what, self.simulator.platform.title, seconds)


def jobs(cases: Sequence[Case]) -> tuple[Job, ...]:
    """The measurements of the kernels among some cases."""
    known = {case.name: case for case in cases}
    found = (known[name] for name in KERNELS if name in known)
    return tuple(Job(case, what) for case in found for what in case.simulated)


def count(wanted: Sequence[Job]) -> int:
    """How often ``advance`` will be called."""
    return len(wanted) * (2 + len(steps()))


def measure(
    wanted: Sequence[Job], advance: Callable[[], None]
) -> tuple[tuple[Stepped, ...], tuple[str, ...]]:
    """What was measured, and what went wrong."""
    found: list[Stepped] = []
    failures: list[str] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # platform by platform, so that a kernel is transformed once: later ones find it done
        pending = [
            {
                version: pool.submit(told(job.run(recipe), advance))
                for version, recipe in job.recipes.items()
            }
            for job in wanted
        ]
        for job, futures in zip(wanted, pending, strict=True):
            try:
                runs = {version: future.result() for version, future in futures.items()}
                found.append(job.measured(runs))
            except LabError as error:
                failures.append(f"{job.case.name}, {job.what.platform}: {error}")
    return tuple(found), tuple(failures)
