"""All K and D of one simulated measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.lab.case import Case, Simulated
from bench.lab.measure import SIMULATED, Measured, Parts, Simulator, Tiling
from bench.lab.run import LabError


@dataclass(frozen=True, slots=True)
class Sweep:
    """Times in seconds of each version at each (K, D).

    ``automatic`` is the transformed version as asphalt leaves it, which chooses K on entry.
    """

    case: Case
    what: Simulated
    parts: Parts
    seconds: Mapping[str, Mapping[Tiling, float]]
    automatic: float | None = None

    @property
    def title(self) -> str:
        """The kernel and its variant."""
        return f"{self.case.name} ({self.what.variant})" if self.what.variant else self.case.name

    def best(self, version: str) -> Tiling:
        """The K and D at which a version is fastest."""
        times = self.seconds[version]
        return min(times, key=lambda tiling: (times[tiling], tiling))

    def gap(self, tiling: Tiling) -> float | None:
        """How much slower the transformed version is than the hand-written one: 0.01 is 1 %."""
        if "transformed" not in self.seconds:
            return None
        return self.seconds["transformed"][tiling] / self.seconds["hand"][tiling] - 1

    def widest_gap(self) -> tuple[Tiling, float] | None:
        """Where the gap is widest."""
        gaps = {tiling: self.gap(tiling) for tiling in self.seconds["hand"]}
        known = {tiling: gap for tiling, gap in gaps.items() if gap is not None}
        return max(known.items(), key=lambda item: item[1]) if known else None

    def measured(self, tiling: Tiling) -> Measured:
        """One row of the table."""
        times = {version: self.seconds[version][tiling] for version in self.seconds}
        return Measured(
            self.case.name,
            self.what.variant,
            SIMULATED,
            self.what.ranks,
            tiling,
            self.parts,
            {"original": self.parts.original} | times,
        )


def run_sweep(
    case: Case, what: Simulated, versions: Sequence[str], advance: Callable[[], None]
) -> Sweep:
    """Simulates every K and D; raises LabError where a result differs from the original's."""
    simulator = Simulator()
    parts, whole = simulator.parts(case, what)
    seconds: dict[str, dict[Tiling, float]] = {version: {} for version in versions}
    for tile in what.tiles:
        for depth in what.depths:
            for version in versions:
                run = simulator.version(case, what, version, (tile, depth))
                if run.output != whole.output:
                    raise LabError(f"{case.name}: {version} differs at K = {tile}, D = {depth}")
                seconds[version][(tile, depth)] = run.seconds
                advance()
    automatic = None
    if "transformed" in versions:
        run = simulator.version(case, what, "transformed", None)
        if run.output != whole.output:
            raise LabError(f"{case.name}: the transformed version differs at its own K")
        automatic = run.seconds
    return Sweep(case, what, parts, seconds, automatic)
