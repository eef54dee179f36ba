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

from asphalt.passes import TRANSFERS
from asphalt.transforms import motion, nonblocking
from bench.lab.case import Case, Simulated
from bench.lab.jobs import AT_ONCE
from bench.lab.measure import Simulator
from bench.lab.platforms import named
from bench.lab.rows import ADDED, Row
from bench.lab.run import LabError, same_output

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

    def measured(self, advance: Callable[[], None]) -> Stepped:
        """All versions; raises LabError where one computes something else than the original."""
        simulator = Simulator(named(self.what.platform))
        hand = self.what.best if self.what.tilings else None
        recipes = {
            ORIGINAL: simulator.recipe(self.case, self.what, ORIGINAL, None),
            HAND: simulator.recipe(self.case, self.what, HAND, hand),
        }
        whole = simulator.recipe(self.case, self.what, "transformed", None)
        recipes |= {added.version: replace(whole, passes=added.passes) for added in steps()}
        seconds: dict[str, float] = {}
        reference = None
        for version, recipe in recipes.items():
            run = simulator.time(recipe, self.what.ranks)
            reference = reference or run
            same_output(reference, run, f"{self.case.name}: {version} (SMPI)")
            seconds[version] = run.seconds
            advance()
        return Stepped(self.case, self.what, simulator.platform.title, seconds)


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
        pending = [pool.submit(job.measured, advance) for job in wanted]
        for job, future in zip(wanted, pending, strict=True):
            try:
                found.append(future.result())
            except LabError as error:
                failures.append(f"{job.case.name}, {job.what.platform}: {error}")
    return tuple(found), tuple(failures)
