"""The run-time behaviour of a plan whose blocks differ in length (MPI_ALLTOALLV).

The receiver knows neither how many iterations the sender's loops have, nor how much each of them
adds.  Both know the length of the block that goes from one to the other: MPI requires
``sendcounts`` of the one to equal ``recvcounts`` of the other (MPI-4.0 section 6.8). So blocks are
cut by length: ``cuts`` divides a block into pieces of ``piece`` elements, a number that each sender
chooses and sends to all ranks at the entry, together with whether it can tile at all.  The ranks
compute their first tile before they receive these numbers.  Then, if all can tile, the receiver
posts all of its receives before it sends anything, so that a wait only depends on sends that come
earlier in their sender's program; otherwise each computes the rest of its tiles, and all call the
collective.  The sender sends a piece as soon as the iterations that write it are executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asphalt.analysis.schedule.exchange import (
    Collective,
    Compute,
    Event,
    Post,
    RankProgram,
    Send,
    TileShape,
    Wait,
)
from asphalt.ir.records import record


@record
class ScheduledBlocks:
    """The blocks of one rank.

    ``counts``: elements for each rank; ``displs``: their first elements in the send buffer;
    ``landing``: the first elements of the blocks from each rank in the receive buffer.
    """

    counts: tuple[int, ...]
    displs: tuple[int, ...]
    landing: tuple[int, ...]


@record
class RankSizes(ScheduledBlocks):
    """``unit``: elements that one iteration adds to a block (or slab); ``trips``: iterations."""

    unit: int
    trips: int


@record
class UnevenSizes:
    """An execution of a site.  ``pieces``: the elements of a message of each rank, 0 on one that
    cannot tile; ``depth``: D, the tiles whose sends are in flight."""

    ranks: tuple[RankSizes, ...]
    pieces: tuple[int, ...]
    depth: int


def origins_in(blocks: Sequence[ScheduledBlocks], rank: int) -> Mapping[int, tuple[int, int]]:
    """For each element that ``rank`` receives: the rank that it comes from, and its element there.

    Element j of the block from rank p is element j of the block for ``rank`` on p.
    """
    return {
        blocks[rank].landing[peer] + inside: (peer, own.displs[rank] + inside)
        for peer, own in enumerate(blocks)
        for inside in range(own.counts[rank])
    }


def cuts(length: int, piece: int) -> tuple[range, ...]:
    """The pieces of a block of ``length`` elements, the same for its sender and its receiver."""
    return tuple(range(at, min(at + piece, length)) for at in range(0, length, piece))


def uneven_schedule(shape: TileShape, rank: int, sizes: UnevenSizes) -> RankProgram:
    """The events of one rank, in program order."""
    own = sizes.ranks[rank]
    if not sizes.pieces[rank]:
        return (Compute(0, range(own.trips)), Collective())
    number = len(sizes.ranks)
    if shape is TileShape.SLAB:
        sent, ring = _slab(rank, sizes), sizes.depth
    else:
        sent, ring = _every_block(rank, sizes), sizes.depth * number
    if not all(sizes.pieces):
        return (*(event for event in sent if isinstance(event, Compute)), Collective())
    posts = _posts(rank, sizes, ring)
    rest = Wait(len(sent), tuple(range(ring + len(posts))))
    return (sent[0], *posts, *sent[1:], rest)


def _posts(rank: int, sizes: UnevenSizes, slot: int) -> list[Post]:
    """All receives, in the order in which the ranks begin with this one."""
    posts: list[Post] = []
    number = len(sizes.ranks)
    for turn in range(1, number + 1):
        source = (rank - turn) % number
        expected = sizes.ranks[source].counts[rank]  # by MPI's rule recvcounts of this rank
        start = sizes.ranks[rank].landing[source]
        for part in cuts(expected, sizes.pieces[source]):
            posts.append(Post(0, source, start + part.start, len(part), slot + len(posts)))
    return posts


def _slab(rank: int, sizes: UnevenSizes) -> list[Event]:
    """Tile t is the next piece of a block; the blocks begin with that of the next rank.

    Its iterations are those that write the piece and have not been executed: from the first one
    that begins in the piece (or at its beginning) to the one that holds its last element.
    """
    own, number, piece = sizes.ranks[rank], len(sizes.ranks), sizes.pieces[rank]
    events: list[Event] = []
    step = 0
    for turn in range(1, number + 1):
        peer = (rank + turn) % number
        for part in cuts(own.counts[peer], piece):
            start = own.displs[peer]
            stretch = range(
                _whole(start + part.start, own.unit), _whole(start + part.stop, own.unit)
            )
            slot = step % sizes.depth
            events += [Compute(step, stretch), Wait(step, (slot,))]
            events.append(Send(step, peer, start + part.start, len(part), slot))
            step += 1
    return events or [Compute(0, range(own.trips))]


def _every_block(rank: int, sizes: UnevenSizes) -> list[Event]:
    """Tile t is piece t of every block that has one.

    Its iterations are those up to the one that holds the last element of the piece; the last tile
    executes all remaining ones.
    """
    own, number, piece = sizes.ranks[rank], len(sizes.ranks), sizes.pieces[rank]
    tiles = max(1, max(len(cuts(count, piece)) for count in own.counts))
    events: list[Event] = []
    for step in range(tiles):
        start = min(_whole(step * piece, own.unit), own.trips)
        stop = min(_whole((step + 1) * piece, own.unit), own.trips)
        events.append(Compute(step, range(start, own.trips if step == tiles - 1 else stop)))
        slot = number * (step % sizes.depth)
        events.append(Wait(step, tuple(range(slot, slot + number))))
        for turn in range(1, number + 1):
            peer = (rank + turn) % number
            parts = cuts(own.counts[peer], piece)
            if step < len(parts):
                part = parts[step]
                place = own.displs[peer] + part.start
                events.append(Send(step, peer, place, len(part), slot + turn - 1))
    return events


def _whole(elements: int, unit: int) -> int:
    """The number of iterations that write so many elements."""
    return -(-elements // max(1, unit))
