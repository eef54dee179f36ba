"""The three MPI implementations: how each compiles and starts a program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="{speed}" bw="{bandwidth}"
           lat="{latency}" loopback_bw="{copy_bandwidth}" loopback_lat="{copy_latency}"/>
</platform>
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A simulated cluster: one link a node, no contention between nodes.

    The loopback is what a message to oneself costs: a copy in memory.  ``overhead`` is the time,
    in seconds, that the processor spends on each message at either end.
    """

    nodes: int = 64
    speed: str = "1Gf"
    bandwidth: str = "1.25GBps"
    latency: str = "5us"
    copy_bandwidth: str = "10GBps"
    copy_latency: str = "0.5us"
    overhead: float = 1e-6
    test: float = 1e-7

    def xml(self) -> str:
        """The platform description for smpirun."""
        return CLUSTER.format(
            last=self.nodes - 1,
            speed=self.speed,
            bandwidth=self.bandwidth,
            latency=self.latency,
            copy_bandwidth=self.copy_bandwidth,
            copy_latency=self.copy_latency,
        )


@dataclass(frozen=True, slots=True)
class Toolchain:
    """An MPI: its compilers for free and fixed form, and its launcher."""

    name: str
    free: str
    fixed: str
    launcher: str
    title: str

    def missing(self) -> tuple[str, ...]:
        """The programs that are not installed."""
        return tuple(p for p in (self.free, self.fixed, self.launcher) if shutil.which(p) is None)

    def compiler(self, source: Path) -> str:
        """The compiler driver for ``source``, by its suffix."""
        return self.fixed if source.suffix.lower() == ".f" else self.free


OPENMPI = Toolchain(
    "openmpi", "mpif90.openmpi", "mpif90.openmpi", "mpirun.openmpi", "Open MPI, memory"
)
MPICH = Toolchain("mpich", "mpif90.mpich", "mpif90.mpich", "mpirun.mpich", "MPICH, memory")
SMPI = Toolchain("smpi", "smpif90", "smpiff", "smpirun", "SMPI 10 Gb/s")
TOOLCHAINS = (OPENMPI, MPICH, SMPI)


def environment() -> dict[str, str]:
    """The environment of every run: Open MPI also as root and with more ranks than cores."""
    return os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
    }


def real_command(toolchain: Toolchain, ranks: int, program: Path) -> list[str]:
    """Starts ``program`` on this machine under a real MPI."""
    return [toolchain.launcher, "-np", str(ranks), str(program)]


def simulated_command(
    ranks: int, program: Path, platform: Path, cluster: Cluster, extra: Mapping[str, str]
) -> list[str]:
    """Starts ``program`` on the cluster that ``platform`` describes.

    Nothing is timed on the host, so that a run gives the same simulated time every time.
    """
    cost = f"0:{cluster.overhead:g}:0"
    settings = {
        "smpi/simulate-computation": "no",
        "smpi/test": f"{cluster.test:g}",
        "smpi/grow-injected-times": "no",
        "smpi/os": cost,
        "smpi/or": cost,
        "smpi/ois": cost,
    } | dict(extra)
    return [
        SMPI.launcher,
        "-np",
        str(ranks),
        "-platform",
        str(platform),
        *(f"--cfg={key}:{value}" for key, value in settings.items()),
        "--log=root.thresh:error",
        str(program),
    ]
