"""The run-time behaviour of a plan where an iteration adds more to one block than to another.

All ranks have the same K: a tile is K iterations.  A piece of the block for a rank is what K
iterations of its sender add to it, ``K*units`` elements; the sender sends each receiver that
number.  Tiles, not elements, are counted, so that a piece is final when its tile is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.schedule.exchange import (
    Collective,
    Compute,
    Event,
    Post,
    RankProgram,
    Send,
    Wait,
)
from asphalt.analysis.schedule.uneven import RankBlocks, cuts


@dataclass(frozen=True, slots=True)
class PackedRank(RankBlocks):
    """``units``: elements that an iteration adds to the block for each; ``trips``: iterations."""

    units: tuple[int, ...]
    trips: int


@dataclass(frozen=True, slots=True)
class PackedSizes:
    """One execution of a site: ``tile`` is K, 0 where the run decides not to tile; ``depth`` D."""

    ranks: tuple[PackedRank, ...]
    tile: int
    depth: int


def packed_schedule(rank: int, sizes: PackedSizes) -> RankProgram:
    """The events of one rank, in program order."""
    own, number, tile = sizes.ranks[rank], len(sizes.ranks), sizes.tile
    if not tile:
        return (Compute(0, range(own.trips)), Collective())
    ring = sizes.depth * number
    posts: list[Event] = []
    for turn in range(1, number + 1):
        source = (rank - turn) % number
        sender = sizes.ranks[source]
        for part in cuts(sender.counts[rank], max(1, tile * sender.units[rank])):
            place = own.landing[source] + part.start
            posts.append(Post(0, source, place, len(part), ring + len(posts)))
    sent: list[Event] = []
    for step in range(max(1, -(-own.trips // tile))):
        sent.append(Compute(step, range(step * tile, min((step + 1) * tile, own.trips))))
        slot = number * (step % sizes.depth)
        sent.append(Wait(step, tuple(range(slot, slot + number))))
        for turn in range(1, number + 1):
            peer = (rank + turn) % number
            piece = tile * own.units[peer]
            length = min(piece, own.counts[peer] - step * piece)
            if length > 0:
                place = own.displs[peer] + step * piece
                sent.append(Send(step, peer, place, length, slot + turn - 1))
    return (*posts, *sent, Wait(len(sent), tuple(range(ring + len(posts)))))
