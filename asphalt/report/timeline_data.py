"""The content of drawn timelines: some of the lanes, names and colours of activities."""

from __future__ import annotations

from collections.abc import Sequence

from asphalt.ir.records import record
from asphalt.simulation.timeline import Doing, Lane, Timeline

MOST_LANES = 32
COLOURS = {
    # of Okabe and Ito, distinct for all kinds of colour vision, and of different lightness
    Doing.COMPUTING: "#0072B2",
    Doing.MESSAGING: "#000000",
    Doing.WAITING: "#F0C05A",
}
UNDERWAY = "#009E73"
SOME_UNDERWAY = "#C4E8DC"
SOME_UNDERWAY_NAME = "some data of the rank is under way: sent, not yet received"
CAPTION = (
    "A lane is a rank: above, what its processor does; below, in green, its data on the way to "
    "others. Green below blue is communication that computation hides; green below yellow is "
    "communication that the rank waits for. The dashed line is the end."
)
BOTH = (
    "The transformed program also waits once before its first tile, where the ranks create a "
    "private communicator."
)
_WORTH_TELLING = 0.05  # of all waiting
_NO_NAME = "making communicators and the like"


@record
class Version:
    """A version of a program: its name, and a run of it."""

    name: str
    timeline: Timeline

    @property
    def most_underway(self) -> float:
        """The maximum of bytes that one rank has under way."""
        lanes = self.timeline.lanes
        return max((amount for lane in lanes for _, amount in lane.underway), default=0.0)

    @property
    def headline(self) -> str:
        """The name, the time, and the maximum of data under way."""
        told = f"{self.name}: {time_text(self.timeline.seconds)}"
        if self.most_underway <= 0:
            return told
        return f"{told}, up to {bytes_text(self.most_underway)} of a rank under way"

    @property
    def summary(self) -> str:
        """The mean times of a rank in each activity, and where it waits."""
        lanes = self.timeline.lanes
        sums: dict[Doing, float] = dict.fromkeys(Doing, 0.0)
        waits: dict[str, float] = {}
        for one in (one for lane in lanes for one in lane.intervals):
            sums[one.doing] += (one.end - one.start) / len(lanes)
            if one.doing is Doing.WAITING:
                waits[one.call] = waits.get(one.call, 0.0) + (one.end - one.start) / len(lanes)
        shown = [call for call in waits if waits[call] > _WORTH_TELLING * sums[Doing.WAITING]]
        told = ", ".join(
            f"{_short(waits[call])} {f'in {call}' if call else _NO_NAME}"
            for call in sorted(shown, key=lambda call: (-waits[call], call))
        )
        return (
            f"a rank computes {_short(sums[Doing.COMPUTING])}, handles messages "
            f"{_short(sums[Doing.MESSAGING])}, waits {_short(sums[Doing.WAITING])}"
            + (f": {told}" if told else "")
        )


@record
class Drawing:
    """Versions to draw above one another with one time axis.

    ``tiled``: the second one sends exchanges in tiles, for which it makes a communicator first.
    """

    title: str
    versions: tuple[Version, ...]
    tiled: bool = False

    @property
    def seconds(self) -> float:
        """The length of the time axis."""
        return max(version.timeline.seconds for version in self.versions)

    @property
    def most_underway(self) -> float:
        """The maximum of bytes under way from a rank of any version: the common scale."""
        return max(version.most_underway for version in self.versions)

    @property
    def underway_name(self) -> str:
        """The legend of the strips below the bars."""
        return f"how much is under way (full height: {bytes_text(self.most_underway)})"

    @property
    def caption(self) -> str:
        """The caption that explains the picture."""
        return f"{CAPTION} {BOTH}" if self.tiled and len(self.versions) > 1 else CAPTION


def shown(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """At most ``MOST_LANES`` of the lanes, evenly spread, the first and the last among them."""
    if len(lanes) <= MOST_LANES:
        return tuple(lanes)
    last = len(lanes) - 1
    places = dict.fromkeys(round(i * last / (MOST_LANES - 1)) for i in range(MOST_LANES))
    return tuple(lanes[place] for place in places)


def remark(drawing: Drawing) -> str:
    """A remark on lanes that are not drawn; empty if all are."""
    lanes = drawing.versions[0].timeline.lanes
    drawn = shown(lanes)
    if len(drawn) == len(lanes):
        return ""
    return f"{len(drawn)} of {len(lanes)} ranks, evenly spread"


def unit(seconds: float) -> tuple[float, str]:
    """The unit that suits a time: its length in seconds, and its name."""
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


def _short(seconds: float) -> str:
    size, name = unit(seconds) if seconds > 0 else (1.0, "s")
    return f"{seconds / size:.3g} {name}"


def bytes_text(count: float) -> str:
    """A number of bytes for people."""
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} B"
