"""Simulated clusters: SimGrid's SMPI runs an MPI program on a platform, deterministically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from asphalt.ir.records import record
from asphalt.running.mpi import SMPI

_CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="{speed}" bw="{bandwidth}"
           lat="{latency}" loopback_bw="{copy_bandwidth}" loopback_lat="{copy_latency}"/>
</platform>
"""


@record
class MessageCosts:
    """Processor time in seconds of each message at either end, and of each MPI_Test."""

    overhead: float = 1e-6
    test: float = 1e-7

    def settings(self) -> dict[str, str]:
        """The settings of smpirun that charge these costs; nothing is timed on the host."""
        cost = f"0:{self.overhead:g}:0"
        return {
            "smpi/simulate-computation": "no",
            "smpi/test": f"{self.test:g}",
            "smpi/grow-injected-times": "no",
            "smpi/os": cost,
            "smpi/or": cost,
            "smpi/ois": cost,
        }


@record
class Cluster:
    """A simulated cluster: one link for each node, no contention between nodes; SimGrid's units.

    A message of a rank to itself costs a copy in memory (the loopback).
    """

    nodes: int = 64
    speed: str = "1Gf"
    bandwidth: str = "1.25GBps"
    latency: str = "5us"
    copy_bandwidth: str = "10GBps"
    copy_latency: str = "0.5us"
    costs: MessageCosts = field(default_factory=MessageCosts)

    def xml(self) -> str:
        """The platform description for smpirun."""
        return _CLUSTER.format(
            last=self.nodes - 1,
            speed=self.speed,
            bandwidth=self.bandwidth,
            latency=self.latency,
            copy_bandwidth=self.copy_bandwidth,
            copy_latency=self.copy_latency,
        )


def command(
    ranks: int,
    program: Path,
    platform: Path,
    costs: MessageCosts,
    extra: Mapping[str, str] | None = None,
) -> list[str]:
    """The command that starts ``program`` on the cluster of the file ``platform``.

    Nothing is timed on the host, so that every run gives the same simulated time.  ``extra``:
    additional settings of smpirun (``--cfg``).
    """
    words = options(platform, costs, extra)
    return [SMPI.launcher, "-np", str(ranks), *words, str(program)]


def options(
    platform: Path, costs: MessageCosts, extra: Mapping[str, str] | None = None
) -> list[str]:
    """The options of smpirun for the cluster and all settings, as in ``command``."""
    settings = costs.settings() | dict(extra or {})
    return [
        "-platform",
        str(platform),
        *(f"--cfg={key}:{value}" for key, value in settings.items()),
        "--log=root.thresh:error",
    ]
