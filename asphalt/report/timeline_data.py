"""Timelines as they are drawn: some of the lanes, the names and colours of what ranks do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asphalt.simulation.timeline import Doing, Lane, Timeline

MOST_LANES = 32
COLOURS = {
    # of Okabe and Ito, which are told apart with any colour vision; and in different lightness
    Doing.COMPUTING: "#0072B2",
    Doing.MESSAGING: "#000000",
    Doing.WAITING: "#F0C05A",
}
UNDERWAY = "#009E73"
UNDERWAY_NAME = "data under way: sent, not yet received (full height: the most in this version)"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a program: what it is called, and a run of it."""

    name: str
    timeline: Timeline

    @property
    def most_underway(self) -> float:
        """The most bytes that one rank has under way."""
        lanes = self.timeline.lanes
        return max((amount for lane in lanes for _, amount in lane.underway), default=0.0)

    @property
    def headline(self) -> str:
        """The name, the time, and how much data is under way."""
        told = f"{self.name}: {time_text(self.timeline.seconds)}"
        if self.most_underway <= 0:
            return told
        return f"{told}, up to {bytes_text(self.most_underway)} of a rank under way"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Versions to be drawn above one another with the same time axis."""

    title: str
    versions: tuple[Version, ...]

    @property
    def seconds(self) -> float:
        """The length of the time axis."""
        return max(version.timeline.seconds for version in self.versions)


def shown(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """At most ``MOST_LANES`` of the lanes, evenly spread, the first and the last among them."""
    if len(lanes) <= MOST_LANES:
        return tuple(lanes)
    last = len(lanes) - 1
    places = dict.fromkeys(round(i * last / (MOST_LANES - 1)) for i in range(MOST_LANES))
    return tuple(lanes[place] for place in places)


def remark(drawing: Drawing) -> str:
    """What a reader has to know about lanes that are not drawn; empty where all are."""
    lanes = drawing.versions[0].timeline.lanes
    drawn = shown(lanes)
    if len(drawn) == len(lanes):
        return ""
    return f"{len(drawn)} of {len(lanes)} ranks, evenly spread"


def unit(seconds: float) -> tuple[float, str]:
    """How many seconds the unit has that suits a time, and its name."""
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return size, name
    return 1e-9, "ns"


def time_text(seconds: float) -> str:
    """A time for people, with four digits."""
    if seconds < 0:
        return f"-{time_text(-seconds)}"
    if seconds == 0:
        return "0 s"
    size, name = unit(seconds)
    return f"{seconds / size:.4g} {name}"


def bytes_text(count: float) -> str:
    """A number of bytes for people."""
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} B"
