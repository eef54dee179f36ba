"""Runs two ranks over a slow link that costs no processor time.

A pair of virtual interfaces with token buckets joins two network namespaces.  Transfer is truly
asynchronous, with real sockets and real progress.  This needs root; without it the two ranks share
memory, and the result says so.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asphalt.running.mpi import OPENMPI, Mpi
from bench.lab.run import LabError

RATE = "1gbit"
_HOSTS = ("10.77.0.1", "10.77.0.2")
_AGENT = """#!/bin/bash
# Stands in for ssh: drops its options, takes the host, runs the rest in that host's namespace.
while [[ "$1" == -* ]]; do shift; done
host=$1
shift
case "$host" in
  {hosts[0]}) space={spaces[0]} ;;
  *) space={spaces[1]} ;;
esac
exec ip netns exec "$space" bash -c "$*"
"""


@dataclass(frozen=True, slots=True)
class LinkLab:
    """How to start two ranks; ``agent`` None: they share memory, because of ``reason``."""

    spaces: tuple[str, str] | None
    agent: Path | None
    reason: str = ""
    interface: str = ""

    def title(self, mpi: Mpi = OPENMPI) -> str:
        """The name of this platform in tables."""
        return f"{mpi.title}, memory" if self.agent is None else f"{mpi.title} 1 Gb/s"

    def command(self, program: Path, mpi: Mpi = OPENMPI) -> list[str]:
        """The command for ``program`` on two ranks; raises LabError for an unknown MPI."""
        if self.spaces is None or self.agent is None:
            return mpi.command(2, program)
        if mpi.name not in _OVER_THE_LINK:
            raise LabError(f"{mpi.title} is not supported over network namespaces")
        options = _OVER_THE_LINK[mpi.name](str(self.agent), self.interface)
        inside = ("ip", "netns", "exec", self.spaces[0])
        return [*inside, *options[0], mpi.launcher, *options[1], str(program)]


def _openmpi(agent: str, interface: str) -> tuple[list[str], list[str]]:
    """The words before the launcher, and its options."""
    del interface  # found by its network
    network = "10.77.0.0/24"
    settings = {
        "plm_rsh_agent": agent,
        "btl": "tcp,self",
        "btl_tcp_if_include": network,
        "oob_tcp_if_include": network,
        "mpi_yield_when_idle": "0",
    }
    hosts = ",".join(f"{host}:1" for host in _HOSTS)
    given = [word for key, value in settings.items() for word in ("--mca", key, value)]
    return [], ["-np", "2", "--host", hosts, "--bind-to", "none", *given]


def _mpich(agent: str, interface: str) -> tuple[list[str], list[str]]:
    """Hydra, with the agent as its ssh; otherwise UCX detects that ranks share a machine."""
    options = ["-launcher", "ssh", "-launcher-exec", agent, "-iface", interface]
    before = ["env", "UCX_TLS=tcp,self"]
    return before, [*options, "-hosts", ",".join(_HOSTS), "-n", "2", "-ppn", "1"]


_OVER_THE_LINK = {"openmpi": _openmpi, "mpich": _mpich}


@contextmanager
def slow_link() -> Iterator[LinkLab]:
    """The slow link while the block runs; it is removed afterwards."""
    if reason := _why_not():
        yield LinkLab(None, None, reason)
        return
    own = os.getpid()
    spaces = (f"asphalt-a{own}", f"asphalt-b{own}")
    with tempfile.TemporaryDirectory(prefix="asphalt-link-") as directory:
        try:
            try:
                ends = (f"aa{own}", f"ab{own}")
                _connect(spaces, ends)
            except subprocess.CalledProcessError as error:
                yield LinkLab(None, None, f"{' '.join(error.cmd)}: {error.stderr.strip()}")
                return
            agent = Path(directory) / "agent"
            agent.write_text(_AGENT.format(hosts=_HOSTS, spaces=spaces), encoding="utf-8")
            agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
            yield LinkLab(spaces, agent, "", ends[0])
        finally:
            for space in spaces:
                subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


def busy() -> str:
    """Why times of real runs mean little now; empty on a quiet machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cores + 1:
        return ""
    return f"the machine was busy (load {load:.1f} on {cores} cores): these times mean little"


def _why_not() -> str:
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    return f"{', '.join(missing)} not found (package iproute2)" if missing else ""


def _connect(spaces: tuple[str, str], ends: tuple[str, str]) -> None:
    for space in spaces:
        _call("ip", "netns", "add", space)
    _call("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for space, end, host in zip(spaces, ends, _HOSTS, strict=True):
        _call("ip", "link", "set", end, "netns", space)
        inside = ("ip", "netns", "exec", space)
        _call(*inside, "ip", "addr", "add", f"{host}/24", "dev", end)
        _call(*inside, "ip", "link", "set", end, "up")
        _call(*inside, "ip", "link", "set", "lo", "up")
        bucket = ("tbf", "rate", RATE, "burst", "128kb", "latency", "100ms")
        _call(*inside, "tc", "qdisc", "replace", "dev", end, "root", *bucket)


def _call(*command: str) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True)
