"""Reads clusters from SimGrid's platform files (XML)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from asphalt.config.errors import InputError
from asphalt.ir.records import record
from asphalt.machine.platforms import INSTANT, PLAIN, eager_below
from asphalt.running.simgrid import MessageCosts

_HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
_EAGER = 65536  # bytes; by default, larger sends of SMPI wait for their receive
_CLUSTERS = ("cluster", "cabinet")
_BANDWIDTHS = ("bandwidth", "bw", "bb_bw", "loopback_bw", "bw_in", "bw_out", "bw_up", "bw_down")
_LATENCIES = ("latency", "lat", "bb_lat", "loopback_lat")


@record
class Described:
    """The cluster of a platform file; hosts keep their speed."""

    path: Path
    hosts: int | None
    costs: MessageCosts
    free_network: bool = False

    @property
    def name(self) -> str:
        """The file's name without suffix, for names of results."""
        return self.path.stem

    @property
    def title(self) -> str:
        """The title shown to readers."""
        return self.path.name

    def settings(self) -> dict[str, str]:
        """The settings of smpirun besides the platform file."""
        costs = MessageCosts(0.0, self.costs.test) if self.free_network else self.costs
        return costs.settings() | PLAIN | eager_below(_EAGER)

    def of_sender(self, size: float) -> float:
        """The processor time that SMPI charges the sender of a message."""
        return 0.0 if self.free_network else self.costs.overhead

    def of_receiver(self, size: float) -> float:
        """The processor time of the receiver, which SMPI charges for eager messages."""
        return self.of_sender(size) if size < _EAGER else 0.0

    def free(self) -> Described:
        """This cluster with a network and messages that cost nothing."""
        return replace(self, free_network=True)

    def xml(self, nodes: int, speed: float, at_once: bool = False) -> str:
        """The text of the platform file; ``nodes`` and ``speed`` are the file's own.

        Raises ``InputError`` if the file has fewer than ``nodes`` hosts.
        """
        if self.hosts is not None and self.hosts < nodes:
            raise InputError(
                str(self.path), None, f"{self.hosts} hosts are too few for {nodes} ranks"
            )
        if not (self.free_network or at_once):
            return self.path.read_text(encoding="utf-8")
        root = _parsed(self.path)
        for element in root.iter():
            if at_once and "speed" in element.attrib:
                element.set("speed", f"{INSTANT:g}f")
            if self.free_network:
                _make_free(element)
        return _HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


def described(path: Path, costs: MessageCosts) -> Described:
    """The cluster that a file describes.

    Raises ``InputError`` for a file that is missing, or not a platform file.
    """
    root = _parsed(path)
    if root.tag != "platform":
        raise InputError(
            str(path), None, f"is not a platform file: it holds a <{root.tag}>, not a <platform>"
        )
    known = [_count(element) for element in root.iter()]
    hosts = None if None in known else sum(count for count in known if count is not None)
    if hosts == 0:
        raise InputError(str(path), None, "describes no hosts")
    return Described(path, hosts, costs)


def _parsed(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            str(path),
            None,
            f"{reason}; 'asphalt simulate --list-platforms' shows the built-in ones",
        ) from None
    except ElementTree.ParseError as error:
        line, column = error.position
        raise InputError(str(path), line, f"is not XML: {error.msg} (column {column})") from None


def _count(element: ElementTree.Element) -> int | None:
    """The number of hosts that an element stands for; None: unknown."""
    if element.tag == "host":
        return 1
    if element.tag == "peer":
        return 1
    if element.tag == "include":
        return None
    if element.tag in _CLUSTERS:
        try:
            return sum(_radical(element.get("radical", "")))
        except ValueError:
            return None
    return 0


def _radical(text: str) -> Iterator[int]:
    """The lengths of the ranges in ``0-3,7``."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield int(last or first) - int(first) + 1


def _make_free(element: ElementTree.Element) -> None:
    for name in _BANDWIDTHS:
        if name in element.attrib:
            element.set(name, f"{INSTANT:g}Bps")
    for name in _LATENCIES:
        if name in element.attrib:
            element.set(name, "0s")


_FLOPS = re.compile(r"([0-9.eE+-]+)\s*([kMGTPEZY]?)[fF](?:lops?)?")
_SCALE = {prefix: 1000.0**power for power, prefix in enumerate(("", *"kMGTPEZY"))}


def host_speed(platform: Described) -> float | None:
    """The speed of the first hosts of a file in flop/s; None: unknown."""
    for element in _parsed(platform.path).iter():
        if "speed" in element.attrib:
            found = _FLOPS.fullmatch(element.attrib["speed"].split(",")[0].strip())
            return float(found[1]) * _SCALE[found[2]] if found else None
    return None
