"""A second look at where the transformed version is slower than the hand-written one.

The kernels exchange once, so that one exchange pays for what is made once for a communicator; and
where few slabs are in flight, ranks that start less than a microsecond apart end at times that
differ by several per cent, in either version.  So where the gap is too wide, both versions run
again, with several exchanges, on networks whose latencies differ by a thousandth: what counts is
the median of an exchange behind the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from bench.lab.case import Case, Simulated, Tiling
from bench.lab.measure import Parts, Simulator, kernel_name
from bench.lab.platforms import Platform, nearly
from bench.lab.rows import Row
from bench.lab.sweep import Sweep

LATENCIES = (0.999, 1.0, 1.001)
STEPS = 3
LATER = "later exchanges/"
"""What the kernel of such rows begins with."""
VERSIONS = ("hand", "transformed")


def too_wide(sweep: Sweep, most: float) -> tuple[Tiling, ...]:
    """Where the transformed version is slower than the hand-written one by more than ``most``."""
    gaps = {tiling: sweep.gap(tiling) for tiling in sweep.tiled("transformed")}
    return tuple(sorted(t for t, gap in gaps.items() if gap is not None and gap > most))


def later_rows(sweeps: Iterable[Sweep], platform: Platform, most: float) -> Iterator[Row]:
    """The rows of what is measured again on the platform of the sweeps; raises LabError."""
    for sweep in sweeps:
        for tiling in too_wide(sweep, most):
            for version in VERSIONS:
                seconds = later(sweep.case, sweep.what, platform, version, tiling)
                yield _row(sweep, version, tiling, seconds)


def later(case: Case, what: Simulated, platform: Platform, version: str, tiling: Tiling) -> float:
    """Seconds of an exchange behind the first, the median over slightly different networks."""
    longer = replace(what, sizes=dict(what.sizes) | {"steps": STEPS})
    once = replace(what, sizes=dict(what.sizes) | {"steps": 1})
    times = []
    for latency in LATENCIES:
        simulator = Simulator(nearly(platform, latency))
        first = simulator.version(case, once, version, tiling).seconds
        whole = simulator.version(case, longer, version, tiling).seconds
        times.append((whole - first) / (STEPS - 1))
    return median(times)


def _row(sweep: Sweep, version: str, tiling: Tiling, seconds: float) -> Row:
    parts: Parts = sweep.parts
    return Row(
        LATER + kernel_name(sweep.case.name, sweep.what.variant),
        version,
        sweep.platform,
        sweep.what.ranks,
        *tiling,
        seconds,
        seconds / parts.original,
        parts.efficiency(seconds),
    )
