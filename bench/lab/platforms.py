"""The simulated clusters of the bench: platform files and settings of smpirun."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from asphalt.machine.platforms import NETWORKS, Network
from asphalt.running.mpi import SMPI
from asphalt.running.simgrid import Cluster, MessageCosts
from bench.lab.case import ROOT

NODES = 64
PLACE = ROOT / "build" / "lab" / "platforms"

SOLVED_WHOLE = {"network/optim": "Full"}
"""All flows of an exchange share links, so solving only for the flows of an event does not pay."""
_LATENCY = re.compile(r'\b(lat)="([\d.e+-]+)(\w*)"')


@dataclass(frozen=True, slots=True)
class Platform:
    """A simulated cluster: SimGrid's XML, and the settings of smpirun."""

    title: str
    xml: str
    settings: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """A name of the platform that does not depend on its title."""
        return hashlib.sha256(repr((self.xml, self.settings)).encode()).hexdigest()[:16]

    def command(self, ranks: int, program: Path, extra: Mapping[str, str]) -> list[str]:
        """The command for ``program`` on the platform, with additional settings."""
        settings = dict(self.settings) | SOLVED_WHOLE | dict(extra)
        return [
            *(SMPI.launcher, "-np", str(ranks), "-platform", str(self._file())),
            *(f"--cfg={name}:{value}" for name, value in settings.items()),
            "--log=root.thresh:error",
            str(program),
        ]

    def _file(self) -> Path:
        path = PLACE / f"{self.key}.xml"
        if not path.exists():
            PLACE.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=PLACE, delete=False) as file:
                file.write(self.xml)
            os.replace(file.name, path)
        return path


def of_cluster(title: str, cluster: Cluster) -> Platform:
    """The platform of a cluster as ``asphalt.running.simgrid`` describes it."""
    return Platform(title, cluster.xml(), tuple(cluster.costs.settings().items()))


def nearly(platform: Platform, latency: float) -> Platform:
    """The platform with all latencies multiplied by ``latency``."""

    def longer(found: re.Match[str]) -> str:
        return f'{found[1]}="{float(found[2]) * latency:.9g}{found[3]}"'

    return replace(platform, xml=_LATENCY.sub(longer, platform.xml))


TEN_GIGABIT = of_cluster("SMPI 10 Gb/s", Cluster())


FREE = of_cluster(
    "messages take no time",
    Cluster(
        bandwidth="1e3GBps",
        latency="0.001us",
        copy_bandwidth="1e3GBps",
        copy_latency="0.001us",
        costs=MessageCosts(0.0, 1e-9),
    ),
)
"""For the least time of a schedule, and for runs whose results matter rather than their time: fewer
messages are under way at once, which saves simulation time.  With bandwidths a hundred times as
high, SimGrid 3.32 crashes from 48 ranks on.
"""


def named(name: str | None) -> Platform:
    """The platform of a network by name, for messages between two ranks; None: the bench's own.

    Raises KeyError.
    """
    if name is None:
        return TEN_GIGABIT
    plain = of_network({network.name: network for network in NETWORKS}[name])
    return replace(plain, title=f"{plain.title}, eager")


def of_network(network: Network) -> Platform:
    """The platform of a network as ``asphalt simulate`` knows it, with nodes of 1 Gflop/s."""
    xml = network.xml(NODES, 1e9)
    return Platform(f"SMPI {network.name}", xml, tuple(network.settings().items()))
