"""Measures the speed-up by each transformation on simulated clusters.

It follows figures 4 to 8 of Danalis, Pollock, Swany and Cavazos, ICS 2009.  Splitting a transfer
gains only if something moves into its window, and a blocking transfer has no window, so
``nonblocking`` and ``motion`` come first together.  The other transformations follow in the order
in which the optimiser applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from asphalt.config.passes import TRANSFERS, Pass
from bench.lab.build import Recipe
from bench.lab.case import Case, Simulated
from bench.lab.jobs import AT_ONCE, advancing
from bench.lab.measure import Simulator
from bench.lab.platforms import FREE, named
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
FIRST = (Pass.NONBLOCKING, Pass.MOTION)
ORIGINAL, HAND = BY_PEOPLE = "original", "hand"


@dataclass(frozen=True, slots=True)
class Added:
    """All transformations up to ``name``."""

    name: str
    passes: tuple[str, ...]

    @property
    def version(self) -> str:
        """The version in rows."""
        return f"{ADDED}{self.name}"


def steps() -> tuple[Added, ...]:
    """The sets of transformations, each with one more than the last."""
    others = [name for name in TRANSFERS if name not in FIRST]
    sets = [Added("-".join(FIRST), FIRST)]
    for number, name in enumerate(others, 1):
        chosen = {*FIRST, *others[:number]}
        sets.append(Added(name, tuple(name for name in TRANSFERS if name in chosen)))
    return tuple(sets)


@dataclass(frozen=True, slots=True)
class Stepped:
    """The times of one kernel on one platform in seconds, by version.

    ``free``: the times of hand and of the original if messages take no time.
    """

    case: Case
    what: Simulated
    platform: str
    seconds: Mapping[str, float]
    free: Mapping[str, float]

    def speed_up(self, version: str) -> float:
        """The original's time divided by that of a version."""
        return self.seconds[ORIGINAL] / self.seconds[version]

    def rows(self) -> Iterator[Row]:
        """A row for each version."""
        free = without_messages(self.platform)
        for platform, times in ((self.platform, self.seconds), (free, self.free)):
            for version, seconds in times.items():
                by_hand = version == HAND and self.what.tilings
                tile, depth = self.what.best if by_hand else (None, None)
                ratio = seconds / times[ORIGINAL]
                yield Row(
                    self.case.name, version, platform, self.what.ranks, tile, depth, seconds,
                    ratio, None,
                )  # fmt: skip


def without_messages(platform: str) -> str:
    """The name in rows of a platform whose messages take no time.

    The amount of computation may differ between platforms.
    """
    return f"{platform}; {FREE.title}"


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel on one platform."""

    case: Case
    what: Simulated

    @property
    def simulator(self) -> Simulator:
        """The simulator of the platform."""
        return Simulator(named(self.what.platform))

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """The recipe of each version, the original first."""
        recipe = self.simulator.recipe
        hand = self.what.best if self.what.tilings else None
        whole = recipe(self.case, self.what, "transformed", None)
        return {
            ORIGINAL: recipe(self.case, self.what, ORIGINAL, None),
            HAND: recipe(self.case, self.what, HAND, hand),
            **{added.version: replace(whole, passes=added.passes) for added in steps()},
        }

    @property
    def runs(self) -> Mapping[tuple[str, str], Callable[[], Run]]:
        """The functions that build and run each version, by platform and version."""
        here, free = self.simulator, Simulator(FREE)
        return {
            (simulator.platform.title, version): partial(simulator.time, recipe, self.what.ranks)
            for version, recipe in self.recipes.items()
            for simulator in ((here, free) if version in BY_PEOPLE else (here,))
        }

    def measured(self, runs: Mapping[tuple[str, str], Run]) -> Stepped:
        """The result of all runs; raises LabError if one differs from the original."""
        here = self.simulator.platform.title
        for (_, version), run in runs.items():
            same_output(runs[here, ORIGINAL], run, f"{self.case.name}: {version} (SMPI)")
        seconds, free = (
            {version: run.seconds for (on, version), run in runs.items() if on == platform}
            for platform in (here, FREE.title)
        )
        return Stepped(self.case, self.what, here, seconds, free)


def measured_before(cases: Sequence[Case], rows: Iterable[Row]) -> Iterator[Stepped]:
    """The measurements that rows are of."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        found.setdefault((row.kernel, row.platform), {})[row.version] = row.seconds
    for job in jobs(cases):
        here, name = job.simulator.platform.title, job.case.name
        if (name, here) in found:
            free = found.get((name, without_messages(here)), {})
            yield Stepped(job.case, job.what, here, found[name, here], free)


def jobs(cases: Sequence[Case]) -> tuple[Job, ...]:
    """The measurements of the kernels among some cases."""
    known = {case.name: case for case in cases}
    found = (known[name] for name in KERNELS if name in known)
    return tuple(Job(case, what) for case in found for what in case.simulated)


def count(wanted: Sequence[Job]) -> int:
    """The number of calls of ``advance``."""
    return sum(len(job.runs) for job in wanted)


def measure(
    wanted: Sequence[Job], advance: Callable[[], None]
) -> tuple[tuple[Stepped, ...], tuple[str, ...]]:
    """The measurements, and the failures."""
    found: list[Stepped] = []
    failures: list[str] = []
    tasks = [job.runs for job in wanted]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending: list[dict[tuple[str, str], Future[Run]]] = [{} for _ in wanted]
        # platform by platform, so that later ones reuse a transformed kernel; the versions of a
        # kernel are not adjacent, so that equal ones reuse the run
        for platform in dict.fromkeys(job.what.platform for job in wanted):
            here = [number for number, job in enumerate(wanted) if job.what.platform == platform]
            for keys in zip_longest(*(tasks[number] for number in here)):
                for number, key in zip(here, keys, strict=True):
                    if key is not None:
                        pending[number][key] = pool.submit(advancing(tasks[number][key], advance))
        for job, futures in zip(wanted, pending, strict=True):
            try:
                runs = {key: future.result() for key, future in futures.items()}
                found.append(job.measured(runs))
            except LabError as error:
                failures.append(f"{job.case.name}, {job.what.platform}: {error}")
    return tuple(found), tuple(failures)
