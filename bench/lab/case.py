"""Reads `case.toml` of a kernel: its sources, its sites, and its measurements."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
STAND_INS = ROOT / "bench" / "smpi"
VERSIONS = ("hand", "ialltoall", "transformed")
"""The versions of a kernel beside the original."""
LABS = ("demo", "quick", "bench")
"""The labs that measure kernels: ``make demo``, ``make bench-quick`` and ``make bench``."""


@dataclass(frozen=True, slots=True)
class ExpectedSite:
    """The expected report on one site: the operation in upper case, and the verdict."""

    operation: str
    verdict: str


Tiling = tuple[int, int]
WIDELY_SHARED = 16


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The pairs of K and D of a measurement on another number of ranks."""

    ranks: int
    tilings: tuple[Tiling, ...]
    sizes: Mapping[str, int]
    charge: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One measurement on the simulated cluster.

    ``platform`` names a network of ``asphalt simulate``; None: the bench's own cluster.

    ``charge``: thousands of operations of a plane before the exchange and, if the kernel works
    after it, of a slice after it; kernels with other work state their charges in the stand-in.
    ``adds_up``: whether the original's time is the sum of computation and communication.  ``best``:
    the K and D of a short run.  ``tilings``: the pairs of K and D to measure.  ``small``: sizes for
    the comparison of results if ranks share memory.

    ``grow``: additions to a size for each further rank, so that messages have the same length on
    any number of ranks; ``per_peer``: charges grow with the number of other ranks.
    ``shares_memory``: whether the data of all ranks does not fit at once.
    """

    variant: str
    ranks: int
    sizes: Mapping[str, int]
    charge: Mapping[str, int]
    tilings: tuple[Tiling, ...]
    best: Tiling
    small: Mapping[str, int]
    grow: Mapping[str, int]
    per_peer: bool
    elsewhere: tuple[Elsewhere, ...]
    shares_memory: bool
    platform: str | None = None
    adds_up: bool = True

    @property
    def tiles(self) -> tuple[int, ...]:
        """Every K that is measured."""
        return tuple(sorted({tile for tile, _ in self.tilings}))

    @property
    def depths(self) -> tuple[int, ...]:
        """Every D that is measured."""
        return tuple(sorted({depth for _, depth in self.tilings}))

    @property
    def all_ranks(self) -> tuple[int, ...]:
        """The numbers of ranks that are measured, ascending."""
        return tuple(sorted({self.ranks, *(other.ranks for other in self.elsewhere)}))

    def at(self, ranks: int) -> Simulated:
        """This measurement on another number of ranks; raises KeyError if there is none."""
        if ranks == self.ranks:
            return self
        other = next((o for o in self.elsewhere if o.ranks == ranks), None)
        if other is None:
            raise KeyError(f"{ranks} ranks")
        more = ranks - self.ranks
        peers = Fraction(ranks - 1, self.ranks - 1) if self.per_peer else Fraction(1)
        return replace(
            self,
            ranks=ranks,
            sizes=self._grown(self.sizes, more) | dict(other.sizes),
            charge={k: round(v * peers) for k, v in self.charge.items()} | dict(other.charge),
            tilings=other.tilings,
            best=other.tilings[0] if other.tilings else self.best,
            small=self._grown(self.small, more),
            elsewhere=(),
            shares_memory=ranks > WIDELY_SHARED,
        )

    def _grown(self, sizes: Mapping[str, int], more: int) -> dict[str, int]:
        return {name: size + more * self.grow.get(name, 0) for name, size in sizes.items()}


@dataclass(frozen=True, slots=True)
class Link:
    """One measurement with two real ranks over a slow link.

    ``best``: K and D; None: the defaults of kernel and asphalt.  ``versions``: the versions beside
    the original.  ``passes``: of the version ``transformed``; (): for exchanges.  ``labs``: those
    of LABS that measure it.
    """

    sizes: Mapping[str, int]
    best: Tiling | None
    versions: tuple[str, ...]
    passes: tuple[str, ...]
    labs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel; ``sources`` and ``hand`` are in the order of compilation.

    ``stand_in``: the source that charges the time of the work instead of doing it; ``counted``: the
    time is counted from the source, statement by statement.  ``versions``: the versions beside the
    original.  ``labs``: those of LABS that include the kernel.  ``sites``: the expected reports of
    `asphalt apply`, except on transfers between two ranks.
    """

    name: str
    directory: Path
    title: str
    shape: str
    sources: tuple[str, ...]
    hand: tuple[str, ...]
    stand_in: str | None
    counted: bool
    flags: tuple[str, ...]
    sites: tuple[ExpectedSite, ...]
    ranks: tuple[int, ...]
    tiling: tuple[tuple[int, int], ...]
    simulated: tuple[Simulated, ...]
    link: Link | None
    versions: tuple[str, ...]
    labs: tuple[str, ...]

    def over_link(self, lab: str) -> Link | None:
        """The measurement of a lab over the slow link."""
        return self.link if self.link is not None and lab in self.link.labs else None

    @property
    def transformable(self) -> bool:
        """Whether asphalt is expected to change the kernel."""
        return any(site.verdict == "applied" for site in self.sites)


def load_case(directory: Path) -> Case:
    """The case in ``directory``/case.toml; raises what `tomllib` and a missing key raise."""
    data = tomllib.loads((directory / "case.toml").read_text(encoding="utf-8"))
    link, versions = data.get("link"), tuple(data.get("versions", VERSIONS))
    return Case(
        name=directory.name,
        directory=directory,
        title=data["title"],
        shape=data["shape"],
        sources=tuple(data["sources"]),
        hand=tuple(data["hand"]),
        stand_in=data.get("stand_in"),
        counted=data.get("counted", False),
        flags=tuple(data["flags"]),
        sites=tuple(ExpectedSite(s["operation"], s["verdict"]) for s in data.get("site", ())),
        ranks=tuple(data["check"]["ranks"]),
        tiling=tuple((k, d) for k, d in data["check"]["tiling"]),
        simulated=tuple(one for s in data.get("simulated", ()) for one in _on_platforms(s)),
        link=None if link is None else _link(link, versions),
        versions=versions,
        labs=tuple(data.get("labs", LABS)),
    )


def _on_platforms(data: Mapping[str, Any]) -> tuple[Simulated, ...]:
    """A measurement on each of its platforms."""
    return tuple(_simulated(data, platform) for platform in data.get("platforms", (None,)))


def _simulated(data: Mapping[str, Any], platform: str | None) -> Simulated:
    tilings = [(k, d) for k in data["tiles"] for d in data["depths"]]
    return Simulated(
        variant=data.get("variant", ""),
        ranks=data["ranks"],
        sizes=data["sizes"],
        charge=data["charge"],
        tilings=tuple(tilings),
        best=(data["best"][0], data["best"][1]) if tilings else (0, 0),
        small=dict(data["sizes"]) | dict(data.get("small", {})),
        grow=data.get("grow", {}),
        per_peer=data.get("per_peer", False),
        elsewhere=tuple(
            Elsewhere(
                other["ranks"],
                tuple((k, d) for k, d in other["tilings"]),
                other.get("sizes", {}),
                other.get("charge", {}),
            )
            for other in data.get("elsewhere", ())
        ),
        shares_memory=data.get("shares_memory", data["ranks"] > WIDELY_SHARED),
        platform=platform,
        adds_up=data.get("adds_up", True),
    )


def _link(data: Mapping[str, Any], versions: tuple[str, ...]) -> Link:
    """The measurement over the link of a kernel with such versions."""
    best = data.get("best")
    return Link(
        sizes=data["sizes"],
        best=None if best is None else (best[0], best[1]),
        versions=tuple(data.get("versions", versions)),
        passes=tuple(data.get("passes", ())),
        labs=tuple(data.get("labs", LABS)),
    )


def load_cases() -> tuple[Case, ...]:
    """All kernels, sorted by name."""
    return tuple(load_case(path.parent) for path in sorted(KERNELS.glob("*/case.toml")))
