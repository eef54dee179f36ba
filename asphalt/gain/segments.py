"""What a message costs as a whole, and in segments that overlap with the nests around it.

All ranks are at the same statement at the same time, as for ``clock``: the message that a rank
receives leaves when its own does.  As a whole, it leaves behind the nest that fills it and arrives
before the nest that uses it; in segments, each leaves behind its tile (Danalis et al., ICS 2009,
section 5, "CCTP").  Each segment has the overhead of a message on both processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.ir.records import record
from asphalt.machine.platforms import Network

USUAL_SEGMENTS = 4
LEAST_WORK = 100000.0
WHOLE_VECTORS = 16
"""As ``usual_segments``, ``least_segment_work`` and ``whole_vectors`` of the runtime."""


@record
class SegmentedMessage:
    """A message, its sizes those of one iteration of the nests around it.

    ``tile``: iterations of a segment; ``depth``: segments in flight, where a segment waits for
    earlier ones.  ``filling``, ``using``: seconds of an iteration of the nests that are executed in
    tiles with it; ``between``: seconds of what stands between the first nest and the wait.
    """

    iterations: int
    tile: int
    size: float
    filling: float
    using: float
    between: float
    depth: int

    def whole(self) -> SegmentedMessage:
        """The message in one segment."""
        return replace(self, tile=self.iterations)

    def tiles(self) -> Iterator[int]:
        """The iterations of each tile."""
        for first in range(0, self.iterations, self.tile):
            yield min(self.tile, self.iterations - first)


def usual_tile(iterations: int, work: float) -> int:
    """The iterations of a tile if nothing else says (``asphalt_segment`` of the runtime);
    ``work``: operations of an iteration."""
    few = -(-iterations // USUAL_SEGMENTS)
    worth = -(-LEAST_WORK // max(work, 1.0))
    tile = max(few, int(worth))
    if tile >= 4 * WHOLE_VECTORS:
        tile = -(-tile // WHOLE_VECTORS) * WHOLE_VECTORS
    return max(1, min(iterations, tile))


def seconds(message: SegmentedMessage, network: Network) -> float:
    """From the beginning of the first nest to the end of the second one."""
    now, link = 0.0, 0.0
    there: list[float] = []
    for count in message.tiles():
        size = count * message.size
        asked = 2 * network.latency if size >= network.eager else 0.0
        now += count * message.filling
        if len(there) >= message.depth and asked:
            now = max(now, there[-message.depth])
        now += network.sending_cost(size)
        link = max(now + asked + network.latency, link) + size / network.bandwidth
        there.append(link)
    now += message.between
    for count, arrival in zip(message.tiles(), there, strict=True):
        now = max(now, arrival) + network.receiving_cost(count * message.size)
        now += count * message.using
    return now


def saved(message: SegmentedMessage, network: Network) -> float:
    """The seconds that segments save; negative: that they lose."""
    return seconds(message.whole(), network) - seconds(message, network)
