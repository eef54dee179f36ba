"""Measures again where the transformed version is slower than the hand-written one.

The kernels exchange once, and that exchange includes the one-time costs of a communicator.  With
few slabs in flight, ranks that start less than a microsecond apart end at times that differ by
several per cent, in either version.  So if the gap is too wide, both versions run again, with
several exchanges, on networks whose latencies differ by up to a hundredth.  The result is the
median of an exchange after the first.
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
"""The prefix of the kernel in such rows."""
VERSIONS = ("hand", "transformed")


@dataclass(frozen=True, slots=True)
class Again:
    """A repeated measurement.

    ``row``: of the single exchange; ``whole``: seconds of a run by its number of exchanges;
    ``efficiency``: of an exchange by its seconds.
    """

    row: Row
    platform: Platform
    whole: Callable[[Simulator, int], float]
    efficiency: Callable[[float], float | None]

    def measured(self) -> Row:
        """The row of an exchange after the first: the median over slightly different networks.

        Raises LabError.
        """
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
    """The rows of repeated measurements, two at once; raises LabError."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(Again.measured, again))


def of_sweeps(sweeps: Iterable[Sweep], platform: Platform, most: float) -> Iterator[Again]:
    """The kernels that are slower than hand by more than ``most`` on the platform."""
    for sweep in sweeps:
        rows = list(sweep.rows())
        for row, tiling in _both_versions(rows, most):
            whole = partial(_whole_case, sweep.case, sweep.what, row.version, tiling)
            yield Again(row, platform, whole, sweep.parts.efficiency)


def of_panels(timed: Iterable[Timed], most: float) -> Iterator[Again]:
    """The panels of the papers' figures that are slower than hand by more than ``most``."""
    for found in timed:
        for row, tiling in _both_versions(list(found.rows()), most):
            whole = partial(_whole_panel, found.panel, row.version, tiling)
            yield Again(row, of_network(found.panel.network), whole, lambda _: None)


def _both_versions(rows: list[Row], most: float) -> Iterator[tuple[Row, Tiling]]:
    """The rows of both versions at each K and D with too wide a gap, by ascending K."""
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
