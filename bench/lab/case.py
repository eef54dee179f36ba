"""What `case.toml` says about a kernel: its sources, its sites, and where it is measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
STAND_INS = ROOT / "bench" / "smpi"


@dataclass(frozen=True, slots=True)
class ExpectedSite:
    """What asphalt must say about one site: the operation, upper case, and the verdict."""

    operation: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Simulated:
    """One measurement on the simulated cluster.

    ``charge`` gives thousands of operations: of a plane before the exchange and, where a kernel
    works after it too, of a slice after it.  ``best`` is the K and D that a short run uses.
    """

    variant: str
    ranks: int
    sizes: Mapping[str, int]
    charge: Mapping[str, int]
    tiles: tuple[int, ...]
    depths: tuple[int, ...]
    best: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Link:
    """One measurement with two real ranks over a slow link."""

    sizes: Mapping[str, int]
    best: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel; ``sources`` and ``hand`` are in the order of compilation."""

    name: str
    directory: Path
    title: str
    shape: str
    sources: tuple[str, ...]
    hand: tuple[str, ...]
    stand_in: str | None
    flags: tuple[str, ...]
    sites: tuple[ExpectedSite, ...]
    ranks: tuple[int, ...]
    tiling: tuple[tuple[int, int], ...]
    simulated: tuple[Simulated, ...]
    link: Link | None

    @property
    def transformable(self) -> bool:
        """Whether asphalt is expected to change the kernel."""
        return any(site.verdict == "applied" for site in self.sites)


def load_case(directory: Path) -> Case:
    """The case in ``directory``/case.toml; raises what `tomllib` and a missing key raise."""
    data = tomllib.loads((directory / "case.toml").read_text(encoding="utf-8"))
    link = data.get("link")
    return Case(
        name=directory.name,
        directory=directory,
        title=data["title"],
        shape=data["shape"],
        sources=tuple(data["sources"]),
        hand=tuple(data["hand"]),
        stand_in=data.get("stand_in"),
        flags=tuple(data["flags"]),
        sites=tuple(ExpectedSite(s["operation"], s["verdict"]) for s in data["site"]),
        ranks=tuple(data["check"]["ranks"]),
        tiling=tuple((k, d) for k, d in data["check"]["tiling"]),
        simulated=tuple(
            Simulated(
                variant=s.get("variant", ""),
                ranks=s["ranks"],
                sizes=s["sizes"],
                charge=s["charge"],
                tiles=tuple(s["tiles"]),
                depths=tuple(s["depths"]),
                best=(s["best"][0], s["best"][1]),
            )
            for s in data.get("simulated", ())
        ),
        link=None if link is None else Link(link["sizes"], (link["best"][0], link["best"][1])),
    )


def load_cases() -> tuple[Case, ...]:
    """All kernels, sorted by name."""
    return tuple(load_case(path.parent) for path in sorted(KERNELS.glob("*/case.toml")))
