"""The targets of the bench, and whether its results meet them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.lab.later import LATER
from bench.lab.rows import Row

EFFICIENCY = {
    "spectral_transpose/small": 0.95,
    "synthetic_fig3": 0.95,
    "plane_slab": 0.90,
}
"""The best overlap efficiency of the transformed version must reach this."""
EFFICIENCY_RANKS = (16, 24, 48)
SLOWER_THAN_HAND = 0.02
SLOWER_THAN_ORIGINAL = 0.03
SIMULATED = "SMPI"
EARLY = "ratios, early/"


@dataclass(frozen=True, slots=True)
class Target:
    """One target: the measured value, and whether it is met; None: not measured."""

    demand: str
    found: str
    met: bool | None

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return {True: "met", False: "missed", None: "not measured"}[self.met]


def targets(rows: Sequence[Row]) -> tuple[Target, ...]:
    """All targets for simulated results."""
    simulated = [row for row in rows if row.platform.startswith(SIMULATED)]
    return (
        *_efficiencies(simulated),
        _against_hand([row for row in simulated if not row.kernel.startswith(LATER)]),
        _against_hand_later(simulated),
        _against_best_hand([row for row in simulated if not row.kernel.startswith(LATER)]),
        *_against_original(simulated),
    )


def _efficiencies(rows: Iterable[Row]) -> Iterator[Target]:
    best: dict[tuple[str, int], Row] = {}
    for row in rows:
        if row.version == "transformed" and row.overlap_efficiency is not None:
            known = best.setdefault((row.kernel, row.ranks), row)
            if row.overlap_efficiency > (known.overlap_efficiency or 0):
                best[row.kernel, row.ranks] = row
    for kernel, least in EFFICIENCY.items():
        for ranks in EFFICIENCY_RANKS:
            demand = f"{kernel}, {ranks} ranks: best overlap efficiency at least {least:.2f}"
            row_or_none = best.get((kernel, ranks))
            if row_or_none is None:
                yield Target(demand, "-", None)
                continue
            efficiency = row_or_none.overlap_efficiency or 0
            found = f"{efficiency:.3f} (K, D: {row_or_none.tiling})"
            yield Target(demand, found, efficiency >= least)


def _against_hand(rows: Sequence[Row]) -> Target:
    demand = f"transformed at most {SLOWER_THAN_HAND:.0%} slower than hand at the same K and D"
    return worst(demand, _gaps(rows), SLOWER_THAN_HAND)


def _against_hand_later(rows: Sequence[Row]) -> Target:
    """The target for later exchanges, measured where a single one was too slow."""
    demand = (
        f"transformed at most {SLOWER_THAN_HAND:.0%} slower than hand at the same K and D, "
        "behind the first exchange"
    )
    found = _gaps(rows)
    gaps = {place: gap for place, gap in found.items() if not place[0].startswith(LATER)}
    later = {place: gap for place, gap in found.items() if place[0].startswith(LATER)}
    gaps |= {(kernel.removeprefix(LATER), on, at): gap for (kernel, on, at), gap in later.items()}
    return worst(demand, gaps, SLOWER_THAN_HAND)


@dataclass(frozen=True, slots=True)
class Slower:
    """A place where the transformed version misses the target for hand.

    Gaps are relative to hand's time; ``later``: of a later exchange, if measured.
    """

    kernel: str
    platform: str
    where: str
    gap: float
    later: float | None


def slower_than_hand(rows: Sequence[Row]) -> list[Slower]:
    """All such places on simulated platforms, the widest gap first."""
    gaps = _gaps([row for row in rows if row.platform.startswith(SIMULATED)])
    found = [
        Slower(*place, gap, gaps.get((LATER + place[0], *place[1:])))
        for place, gap in gaps.items()
        if gap > SLOWER_THAN_HAND and not place[0].startswith(LATER)
    ]
    return sorted(found, key=lambda one: -one.gap)


def _gaps(rows: Sequence[Row]) -> dict[tuple[str, str, str], float]:
    """The relative slow-down of the transformed version, by kernel, platform and place."""
    hand = {
        (row.kernel, row.platform, row.ranks, row.tile, row.depth): row.seconds
        for row in rows
        if row.version == "hand"
    }
    return {
        (row.kernel, row.platform, f"{row.ranks} ranks, K, D: {row.tiling}"): row.seconds
        / hand[row.kernel, row.platform, row.ranks, row.tile, row.depth]
        - 1
        for row in rows
        if row.version == "transformed"
        and row.tile
        and (row.kernel, row.platform, row.ranks, row.tile, row.depth) in hand
    }


def _against_best_hand(rows: Sequence[Row]) -> Target:
    demand = f"transformed at most {SLOWER_THAN_HAND:.0%} slower than hand, each at its best K, D"
    gaps = {}
    for kernel, ranks, platform in dict.fromkeys((r.kernel, r.ranks, r.platform) for r in rows):
        hand = best_of(rows, "hand", ranks, platform, kernel)
        new = best_of(rows, "transformed", ranks, platform, kernel)
        if hand is not None and new is not None and hand.tile is not None and new.tile is not None:
            gaps[kernel, platform, f"{ranks} ranks"] = new.seconds / hand.seconds - 1
    return worst(demand, gaps, SLOWER_THAN_HAND)


def _against_original(rows: Sequence[Row]) -> Iterator[Target]:
    """The targets for the kernels and all ratios, and for programs with few exchanges."""
    most = f"at most {SLOWER_THAN_ORIGINAL:.0%} slower than the original"
    for demand, early in (
        (f"K = 0 (chosen on entry) {most}", False),
        (f"K = 0 {most}: programs that end when all is paid that is made once", True),
    ):
        gaps = {
            (row.kernel, row.platform, f"{row.ranks} ranks"): row.ratio - 1
            for row in rows
            if row.version == "transformed"
            and row.tile == 0
            and row.kernel.startswith(EARLY) is early
        }
        yield worst(demand, gaps, SLOWER_THAN_ORIGINAL)


def worst(demand: str, gaps: dict[tuple[str, str, str], float], most: float) -> Target:
    """The target that no gap (by kernel, platform and place) is wider than ``most``."""
    if not gaps:
        return Target(demand, "-", None)
    (kernel, platform, where), widest = max(gaps.items(), key=lambda item: item[1])
    missed = sum(gap > most for gap in gaps.values())
    found = f"worst {100 * widest:+.2f} % of {len(gaps)} ({kernel}, {platform}, {where})"
    if missed:
        found += f"; {missed} above"
    return Target(demand, found, not missed)


def rows_by_kernel(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each kernel, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.kernel, []).append(row)
    return found


def best_of(
    rows: Iterable[Row], version: str, ranks: int, platform: str, kernel: str
) -> Row | None:
    """The fastest row of a version with given K and D, or with none."""
    place = (kernel, version, ranks, platform)
    fitting = [
        row
        for row in rows
        if (row.kernel, row.version, row.ranks, row.platform) == place and row.tile != 0
    ]
    return min(fitting, key=lambda row: row.seconds) if fitting else None
