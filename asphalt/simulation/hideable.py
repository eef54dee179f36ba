"""How much communication of the exchanges computation can hide, from a run of the original.

Prepushing overlaps an exchange with the computation that produces its data.  That computation lies
between the exchange and the last call before it that waits for other ranks.  The part of an
exchange that can be hidden is the minimum of that computation and of the time from the last rank's
arrival to the last rank's return.  Computation elsewhere, such as on the results, does not count.
Not all computation before the exchange belongs to the producer, so this is an upper bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator

from asphalt.ir.records import record
from asphalt.simulation.timeline import Doing, Lane, Timeline


@record
class Hideable:
    """Sums over all exchanges, in seconds.

    ``computation``: before them, on the rank that computes longest; ``communication``: from the
    last rank's arrival to the last one's return; ``seconds``: the minimum of each pair.
    """

    exchanges: int
    computation: float
    communication: float
    seconds: float


@record
class _Exchange:
    computed: float
    start: float
    end: float


def hideable(original: Timeline, operations: Collection[str]) -> Hideable | None:
    """How much of the calls of ``operations`` (MPI names in lower case) can be hidden.

    None if the ranks do not all call them equally often.
    """
    lanes = [tuple(_exchanges(lane, operations)) for lane in original.lanes]
    if not lanes or len({len(lane) for lane in lanes}) != 1:
        return None
    computation = communication = seconds = 0.0
    for calls in zip(*lanes, strict=True):
        computed = max(call.computed for call in calls)
        exposed = max(call.end for call in calls) - max(call.start for call in calls)
        computation += computed
        communication += exposed
        seconds += min(computed, exposed)
    return Hideable(len(lanes[0]), computation, communication, seconds)


def _exchanges(lane: Lane, operations: Collection[str]) -> Iterator[_Exchange]:
    computing = [one for one in lane.intervals if one.doing is Doing.COMPUTING]
    starts = [one.start for one in computing]
    since = 0.0
    for call in lane.calls:
        if call.name.lower() in operations:
            first, last = bisect_left(starts, since), bisect_left(starts, call.start)
            computed = sum(one.end - one.start for one in computing[first:last])
            yield _Exchange(computed, call.start, call.end)
        since = call.end
