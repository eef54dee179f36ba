"""What a wavefront over ranks costs as a whole, and in tiles.

Each of some ranks receives, computes a nest and sends to the next one.  As a whole, a rank begins
when the one before has ended; in tiles, when the first of its tiles has arrived (Danalis et al.,
ICS 2009, section 6, "a much more efficient pipeline").  Each tile has the overhead of a message on
both processors.  How often the wavefront is repeated is not known, so it counts once.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.gain.amounts import PEERS
from asphalt.ir.records import record
from asphalt.machine.platforms import Network


@record
class Wave:
    """``iterations`` of a nest, of which ``tile`` make a tile; ``size``: bytes of the message for
    each; ``work``: seconds of each."""

    iterations: int
    tile: int
    size: float
    work: float

    def whole(self) -> Wave:
        """The wavefront in one tile."""
        return replace(self, tile=self.iterations)


def seconds(wave: Wave, network: Network) -> float:
    """From the beginning of the first rank to the end of the last one."""
    counts = [
        min(wave.tile, wave.iterations - first) for first in range(0, wave.iterations, wave.tile)
    ]
    there = [0.0 for _ in counts]  # for the first rank, all has come
    end = 0.0
    for rank in range(PEERS):
        now, link = 0.0, 0.0
        for tile, count in enumerate(counts):
            size = count * wave.size
            received = network.receiving_cost(size) if rank else 0.0
            now = max(now, there[tile]) + received + count * wave.work
            now += network.sending_cost(size)
            link = max(now + network.latency, link) + size / network.bandwidth
            there[tile] = link
        end = now
    return end


def saved(wave: Wave, network: Network) -> float:
    """The seconds that tiles save; negative: that they lose."""
    return seconds(wave.whole(), network) - seconds(wave, network)
