"""A second look at where the transformed version is slower than the hand-written one.

The kernels exchange once, so that one exchange pays for what is made once for a communicator; and
where few slabs are in flight, ranks that start less than a microsecond apart end at times that
differ by several per cent, in either version.  So where the gap is too wide, both versions run
again, with several exchanges, on networks whose latencies differ by up to a hundredth: what counts
is the median of an exchange behind the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from bench.lab.case import Case, Simulated, Tiling
from bench.lab.jobs import AT_ONCE
from bench.lab.measure import Simulator
from bench.lab.papers import Panel, Timed
from bench.lab.platforms import Platform, nearly, of_network
from bench.lab.rows import Row
from bench.lab.sweep import Sweep

LATENCIES = (0.99, 0.995, 0.999, 1.0, 1.001, 1.005, 1.01)
STEPS = 3
LATER = "later exchanges/"
"""What the kernel of such rows begins with."""
VERSIONS = ("hand", "transformed")


@dataclass(frozen=True, slots=True)
class Again:
    """What is measured once more.

    ``row``: what is known of the one exchange; ``whole``: seconds of a run with so many exchanges;
    ``efficiency``: of an exchange of so many seconds.
    """

    row: Row
    platform: Platform
    whole: Callable[[Simulator, int], float]
    efficiency: Callable[[float], float | None]

    def measured(self) -> Row:
        """The row of an exchange behind the first, the median over slightly different networks;
        raises LabError."""
        times = []
        for latency in LATENCIES:
            simulator = Simulator(nearly(self.platform, latency))
            first, all_of_them = self.whole(simulator, 1), self.whole(simulator, STEPS)
            times.append((all_of_them - first) / (STEPS - 1))
        seconds = median(times)
        original = self.row.seconds / self.row.ratio
        return replace(
            self.row,
            kernel=LATER + self.row.kernel,
            seconds=seconds,
            ratio=seconds / original,
            overlap_efficiency=self.efficiency(seconds),
        )


def later_rows(again: Iterable[Again]) -> list[Row]:
    """The rows of what is measured again, two at once; raises LabError."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(Again.measured, again))


def of_sweeps(sweeps: Iterable[Sweep], platform: Platform, most: float) -> Iterator[Again]:
    """Where kernels are slower than those written by hand by more than ``most`` on the platform of
    the sweeps."""
    for sweep in sweeps:
        rows = list(sweep.rows())
        for row, tiling in _both_versions(rows, most):
            whole = partial(_whole_case, sweep.case, sweep.what, row.version, tiling)
            yield Again(row, platform, whole, sweep.parts.efficiency)


def of_panels(timed: Iterable[Timed], most: float) -> Iterator[Again]:
    """The same of the papers' figures."""
    for found in timed:
        for row, tiling in _both_versions(list(found.rows()), most):
            whole = partial(_whole_panel, found.panel, row.version, tiling)
            yield Again(row, of_network(found.panel.network), whole, lambda _: None)


def _both_versions(rows: list[Row], most: float) -> Iterator[tuple[Row, Tiling]]:
    """The rows of both versions at each K and D at which they are too far apart, K ascending."""
    hand, new = (
        {(row.tile, row.depth): row for row in rows if row.version == version}
        for version in VERSIONS
    )
    for tile, depth in sorted((t, d) for t, d in new if t and d):
        pair = [known[tile, depth] for known in (hand, new) if (tile, depth) in known]
        if len(pair) == len(VERSIONS) and pair[1].seconds > (1 + most) * pair[0].seconds:
            yield from ((row, (tile, depth)) for row in pair)


def _whole_case(
    case: Case, what: Simulated, version: str, tiling: Tiling, simulator: Simulator, steps: int
) -> float:
    sizes = dict(what.sizes) | {"steps": steps}
    return simulator.version(case, replace(what, sizes=sizes), version, tiling).seconds


def _whole_panel(
    panel: Panel, version: str, tiling: Tiling, simulator: Simulator, steps: int
) -> float:
    sizes = dict(panel.sizes) | {"steps": steps}
    recipe = replace(panel.recipe(version, tiling), sizes=sizes)
    return simulator.time(recipe, panel.ranks).seconds
