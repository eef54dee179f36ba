"""The targets for the transformations of transfers between two ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import mean

from bench.lab.rows import Row
from bench.lab.steps import HAND, KERNELS, ORIGINAL, steps, without_messages
from bench.lab.targets import SLOWER_THAN_HAND, Target, worst

PAPER = KERNELS[:5]
"""The kernels after the programs of Danalis et al., ICS 2009, section 6."""
TIME_DOWN = 0.30
SAME = 0.001
"""A difference that counts as none, as in the model that judges steps."""
Seconds = Mapping[str, float]


def step_targets(rows: Sequence[Row]) -> tuple[Target, ...]:
    """All targets for the speed-ups, step by step."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        found.setdefault((row.kernel, row.platform), {})[row.version] = row.seconds
    versions = [added.version for added in steps()]
    measured = {
        place: seconds
        for place, seconds in found.items()
        if {ORIGINAL, HAND, *versions} <= seconds.keys()
    }
    free = {
        (kernel, platform): found.get((kernel, without_messages(platform)), {}).get(HAND)
        for kernel, platform in measured
    }
    return (*_averages(measured, free), _against_hand(measured), _losing(measured))


def _averages(
    measured: Mapping[tuple[str, str], Seconds], free: Mapping[tuple[str, str], float | None]
) -> Iterator[Target]:
    """The time that the paper's kernels save on each platform.

    With the saving of hand, and of hand if messages took no time, which is the limit.
    """
    last = steps()[-1].version
    for platform in dict.fromkeys(platform for _, platform in measured) or ("any network",):
        demand = f"the paper's five kernels take {TIME_DOWN:.0%} less time on average, {platform}"
        here = {k: measured[k, platform] for k in PAPER if (k, platform) in measured}
        if len(here) < len(PAPER):
            yield Target(demand, f"{len(here)} of {len(PAPER)} measured", None)
            continue
        down = 1 - mean(seconds[last] / seconds[ORIGINAL] for seconds in here.values())
        hand = 1 - mean(seconds[HAND] / seconds[ORIGINAL] for seconds in here.values())
        found = f"{100 * down:.1f} % (hand {100 * hand:.1f} %"
        least = [
            time / seconds[ORIGINAL]
            for kernel, seconds in here.items()
            if (time := free[kernel, platform]) is not None
        ]
        if len(least) == len(here):
            found += f"; hand, if messages took no time, {100 * (1 - mean(least)):.1f} %"
        yield Target(demand, f"{found})", down >= TIME_DOWN)


def _against_hand(measured: Mapping[tuple[str, str], Seconds]) -> Target:
    demand = f"with all transformations at most {SLOWER_THAN_HAND:.0%} slower than hand"
    last = steps()[-1].version
    gaps = {
        (kernel, platform, "all"): seconds[last] / seconds[HAND] - 1
        for (kernel, platform), seconds in measured.items()
    }
    return worst(demand, gaps, SLOWER_THAN_HAND)


def _losing(measured: Mapping[tuple[str, str], Seconds]) -> Target:
    demand = f"no transformation loses more than {SAME:.1%} where it is added"
    gaps = {
        (kernel, platform, after): seconds[after] / seconds[before] - 1
        for (kernel, platform), seconds in measured.items()
        for before, after in pairwise((ORIGINAL, *(added.version for added in steps())))
    }
    return worst(demand, gaps, SAME)
