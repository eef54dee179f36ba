"""Runs one simulated measurement of a kernel: versions, K and D on one number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.lab.case import Case, Simulated, Tiling
from bench.lab.measure import Measured, Parts, Simulator, kernel_name
from bench.lab.rows import NOT_OVERLAPPED, NOT_TILED, Row
from bench.lab.run import same_output

CHOSEN: Tiling = (0, 0)
"""K chosen at run time, with the D of the header."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run to measure; ``tiling`` None: the version has none."""

    version: str
    tiling: Tiling | None

    @property
    def asked(self) -> Tiling | None:
        """K and D to write into the program; None: those of the header."""
        return None if self.tiling == CHOSEN else self.tiling


@dataclass(frozen=True, slots=True)
class Sweep:
    """Times in seconds of each version with each (K, D); ``platform``: its title.

    Versions without K and D have one time, at None.
    """

    case: Case
    what: Simulated
    platform: str
    parts: Parts
    seconds: Mapping[str, Mapping[Tiling | None, float]]

    @property
    def title(self) -> str:
        """The kernel and its variant."""
        return f"{self.case.name} ({self.what.variant})" if self.what.variant else self.case.name

    def tiled(self, version: str) -> dict[Tiling, float]:
        """The times with given pairs of K and D."""
        times = self.seconds.get(version, {})
        return {t: seconds for t, seconds in times.items() if t is not None and t != CHOSEN}

    @property
    def chosen(self) -> float | None:
        """The time of the transformed version with K chosen at run time."""
        return self.seconds.get("transformed", {}).get(CHOSEN)

    def best(self, version: str) -> Tiling:
        """The K and D with which a version is fastest; raises ValueError if it has none."""
        times = self.tiled(version)
        return min(times, key=lambda tiling: (times[tiling], tiling))

    def measured(self, tiling: Tiling) -> Measured:
        """The measurement as a line of a table."""
        times = {
            version: seconds[tiling if tiling in seconds else None]
            for version, seconds in self.seconds.items()
            if tiling in seconds or None in seconds
        }
        return Measured(
            self.case.name,
            self.what.variant,
            self.platform,
            self.what.ranks,
            tiling,
            self.parts,
            {"original": self.parts.original} | times,
        )

    def rows(self) -> Iterator[Row]:
        """One row for each time, the original's first."""
        times: list[tuple[str, Tiling | None, float]] = [("original", None, self.parts.original)]
        for version, seconds in self.seconds.items():
            times += [(version, tiling, seconds[tiling]) for tiling in sorted(seconds, key=_order)]
        for version, tiling, value in times:
            tile, depth = (None, None) if tiling is None else tiling
            yield Row(
                kernel_name(self.case.name, self.what.variant),
                version,
                self.platform,
                self.what.ranks,
                tile,
                depth or None,
                value,
                value / self.parts.original,
                self.parts.efficiency(value),
            )


def sweep_of(
    case: Case,
    what: Simulated,
    platform: str,
    parts: Parts,
    seconds: Mapping[str, Mapping[Tiling | None, float]],
) -> Sweep:
    """The sweep of the measured times; its floor is that of the fastest exchange."""
    plain = seconds.get(NOT_OVERLAPPED, {}).get(None)
    return Sweep(case, what, platform, parts if plain is None else parts.beside(plain), seconds)


def _order(tiling: Tiling | None) -> Tiling:
    return CHOSEN if tiling is None else tiling


def runs_of(what: Simulated, versions: Sequence[str]) -> tuple[Run, ...]:
    """The runs beside the original."""
    found: list[Run] = []
    for version in versions:
        if version in NOT_TILED or not what.tilings:
            found.append(Run(version, None))
            continue
        found += [Run(version, tiling) for tiling in what.tilings]
        if version == "transformed":
            found.append(Run(version, CHOSEN))
    return tuple(found)


def measure(case: Case, what: Simulated, run: Run, simulator: Simulator) -> float:
    """The time of one run in seconds; raises LabError if its result differs."""
    if what.shares_memory:
        return simulator.version(case, what, run.version, run.asked).seconds
    original = simulator.version(case, what, "original", None)
    found = simulator.version(case, what, run.version, run.asked)
    where = f"{kernel_name(case.name, what.variant)}, {what.ranks} ranks"
    same_output(original, found, f"{where}: {run.version} at {run.tiling}")
    return found.seconds


def run_sweep(
    case: Case,
    what: Simulated,
    versions: Sequence[str],
    advance: Callable[[], None],
    simulator: Simulator | None = None,
) -> Sweep:
    """All runs of a measurement, one after the other; raises LabError."""
    simulator = simulator or Simulator()
    parts, _ = simulator.parts(case, what)
    seconds: dict[str, dict[Tiling | None, float]] = {version: {} for version in versions}
    for run in runs_of(what, versions):
        seconds[run.version][run.tiling] = measure(case, what, run, simulator)
        advance()
    return sweep_of(case, what, simulator.platform.title, parts, seconds)
