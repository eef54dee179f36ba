"""Timelines of simulated runs: the activities of each rank, and its data under way."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from asphalt.ir.records import record


class Doing(Enum):
    """The activity of a rank; the values are shown to readers."""

    COMPUTING = "computing"
    MESSAGING = "handling messages (the processor starts, copies and tests them)"
    WAITING = "waiting in MPI for other ranks"


@record
class Interval:
    """An interval in simulated seconds.

    ``call``: the enclosing MPI call in the standard's spelling, empty in the program's own code.
    """

    start: float
    end: float
    doing: Doing
    call: str = ""


@record
class TimedCall:
    """A call of an MPI procedure, from entry to return."""

    name: str
    start: float
    end: float


@record
class Lane:
    """A rank: its activities in order, and its calls that may wait for other ranks.

    ``underway``: the bytes that it has sent and other ranks have not yet received, as pairs of
    time and bytes, each valid until the next.
    """

    rank: int
    intervals: tuple[Interval, ...]
    calls: tuple[TimedCall, ...]
    underway: tuple[tuple[float, float], ...]


@record
class Timeline:
    """All ranks of a run that took ``seconds``, in the order of ranks."""

    seconds: float
    lanes: tuple[Lane, ...]


def without_busy(
    intervals: Sequence[Interval], busy: Sequence[tuple[float, float]]
) -> tuple[Interval, ...]:
    """The intervals, with waiting replaced by message handling while the processor is busy.

    ``busy``: the starts and ends of message handling in seconds; both in the order of time.
    """
    found: list[Interval] = []
    place = 0
    for one in intervals:
        if one.doing is not Doing.WAITING:
            found.append(one)
            continue
        since = one.start
        while place < len(busy) and busy[place][1] <= since:
            place += 1
        for start, end in busy[place:]:
            if start >= one.end:
                break
            first, last = max(start, since), min(end, one.end)
            if first >= last:
                continue
            if first > since:
                found.append(Interval(since, first, Doing.WAITING, one.call))
            found.append(Interval(first, last, Doing.MESSAGING, one.call))
            since = last
        if since < one.end:
            found.append(Interval(since, one.end, Doing.WAITING, one.call))
    return tuple(found)


def merged(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """The intervals, with neighbours of the same activity and call joined."""
    joined: list[Interval] = []
    for one in intervals:
        last = joined[-1] if joined else None
        if (
            last is not None
            and (last.doing, last.call) == (one.doing, one.call)
            and one.start <= last.end
        ):
            joined[-1] = Interval(last.start, one.end, last.doing, last.call)
        else:
            joined.append(one)
    return tuple(joined)


def means(steps: Sequence[tuple[float, float]], end: float, bins: int) -> tuple[float, ...]:
    """The mean of a quantity in each of ``bins`` equal parts of the time from 0 to ``end``.

    ``steps``: pairs of time and value in the order of time, each valid until the next.
    """
    sums = [0.0] * bins
    width = end / bins
    if width <= 0 or not steps:
        return tuple(sums)
    ends = [time for time, _ in steps[1:]] + [end]
    for (start, value), stop in zip(steps, ends, strict=True):
        if value <= 0 or stop <= start:
            continue
        first, last = int(start / width), min(int(stop / width), bins - 1)
        for number in range(first, last + 1):
            inside = min(stop, (number + 1) * width) - max(start, number * width)
            sums[number] += value * max(inside, 0.0)
    return tuple(one / width for one in sums)
