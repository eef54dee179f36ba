"""What a plan does at run time, as one abstract program a rank.

The protocol is data: ``schedule`` gives, for every rank, the sequence of events that the emitted
code goes through, and ``protocol`` checks it before anything is emitted.  Offsets and lengths are
in elements, from the start of the send or receive buffer; ranks, tiles and iterations count from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Compute:
    """The iterations of one tile are executed."""

    step: int
    iterations: range


@dataclass(frozen=True, slots=True)
class Post:
    """A receive from ``peer`` is posted; its request goes to ``slot``."""

    step: int
    peer: int
    offset: int
    length: int
    slot: int


@dataclass(frozen=True, slots=True)
class Send:
    """A send to ``peer`` is started; its request goes to ``slot``."""

    step: int
    peer: int
    offset: int
    length: int
    slot: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The requests in ``slots`` are waited for, all of them; an empty slot is no wait."""

    step: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """The original call, on the branch that is not tiled."""


Event = Compute | Post | Send | Wait | Collective
RankProgram = tuple[Event, ...]


class Shape(Enum):
    """What a tile of K iterations sends (DESIGN.md, "Prepushing an exchange")."""

    EVERY_BLOCK = "every block"  # the same stretch of each rank's block: a message to every rank
    SLAB = "slab"  # one contiguous stretch of one rank's block; the blocks in rotated order


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one execution of a site.

    ``trips``: iterations over which one block is filled (every block: trip count of the tiled
    loop; slab: planes of one rank's block).  ``elements``: what one iteration adds to one block.
    ``tile`` (K) and ``depth`` (D); ``tile`` 0: not tiled.
    """

    ranks: int
    trips: int
    elements: int
    tile: int
    depth: int

    @property
    def count(self) -> int:
        """Elements of one block: what the collective sends from each rank to each rank."""
        return self.trips * self.elements

    @property
    def tiled(self) -> bool:
        """Whether the exchange is prepushed; a degenerate one is left to the original call."""
        return self.tile > 0 and self.count > 0

    @property
    def tiles(self) -> int:
        """Tiles in which one block is filled; the last may be shorter."""
        return -(-self.trips // self.tile)

    def stretch(self, tile: int) -> range:
        """The iterations of one tile, within a block."""
        return range(tile * self.tile, min((tile + 1) * self.tile, self.trips))


def schedule(shape: Shape, rank: int, sizes: Sizes) -> RankProgram:
    """The events of one rank, in program order."""
    match shape:
        case Shape.EVERY_BLOCK:
            return _every_block(rank, sizes)
        case Shape.SLAB:
            return _slab(rank, sizes)


def slots(shape: Shape, sizes: Sizes) -> int:
    """The size of the request array: D tiles of sends, 2 D tiles of receives."""
    return 3 * sizes.depth * (sizes.ranks if shape is Shape.EVERY_BLOCK else 1)


def iterations(shape: Shape, sizes: Sizes) -> int:
    """The trip count of the producer's loop."""
    return sizes.trips if shape is Shape.EVERY_BLOCK else sizes.trips * sizes.ranks


def last_writer(shape: Shape, sizes: Sizes) -> Callable[[int], int]:
    """For an element of the send buffer, the iteration of the producer that makes it final."""
    if shape is Shape.SLAB:
        return lambda element: element // sizes.elements
    return lambda element: element % sizes.count // sizes.elements


def _every_block(rank: int, sizes: Sizes) -> RankProgram:
    """Tile t sends the same stretch of every block, one message a rank.

    Receives are posted D tiles ahead.  After computing tile t, the sends and receives of tile t-D
    are waited for; the sends of tile t then take the freed slots.
    """
    if not sizes.tiled:
        return (Compute(0, range(sizes.trips)), Collective())
    ranks, depth = sizes.ranks, sizes.depth
    events: list[Event] = []
    posted = 0
    for step in range(sizes.tiles):
        limit = min(step + depth, sizes.tiles)
        for ahead in range(posted, limit):
            slot = ranks * (depth + ahead % (2 * depth))
            for turn in range(1, ranks + 1):
                source = (rank - turn) % ranks
                offset, length = _piece(sizes, source, ahead)
                events.append(Post(ahead, source, offset, length, slot + turn - 1))
        posted = max(posted, limit)
        events.append(Compute(step, sizes.stretch(step)))
        slot = ranks * (step % depth)
        waited = list(range(slot, slot + ranks))
        if step >= depth:
            received = ranks * (depth + (step - depth) % (2 * depth))
            waited += range(received, received + ranks)
        events.append(Wait(step, tuple(waited)))
        for turn in range(1, ranks + 1):
            peer = (rank + turn) % ranks
            offset, length = _piece(sizes, peer, step)
            events.append(Send(step, peer, offset, length, slot + turn - 1))
    events.append(Wait(sizes.tiles, tuple(range(slots(Shape.EVERY_BLOCK, sizes)))))
    return tuple(events)


def _slab(rank: int, sizes: Sizes) -> RankProgram:
    """Step t fills a stretch of the block of one rank and sends it there.

    Rank r starts at the block of rank r+1 and wraps around, so that no two ranks send to the same
    one; in the same step it receives from the rank that is sending to it.
    """
    if not sizes.tiled:
        return (Compute(0, range(iterations(Shape.SLAB, sizes))), Collective())
    ranks, depth = sizes.ranks, sizes.depth
    steps = sizes.tiles * ranks
    events: list[Event] = []
    posted = 0
    for step in range(steps):
        limit = min(step + depth, steps)
        for ahead in range(posted, limit):
            source = (rank - 1 - ahead // sizes.tiles) % ranks
            offset, length = _piece(sizes, source, ahead % sizes.tiles)
            events.append(Post(ahead, source, offset, length, depth + ahead % (2 * depth)))
        posted = max(posted, limit)
        peer = (rank + 1 + step // sizes.tiles) % ranks
        stretch = sizes.stretch(step % sizes.tiles)
        first = peer * sizes.trips
        events.append(Compute(step, range(first + stretch.start, first + stretch.stop)))
        waited = [step % depth]
        if step >= depth:
            waited.append(depth + (step - depth) % (2 * depth))
        events.append(Wait(step, tuple(waited)))
        offset, length = _piece(sizes, peer, step % sizes.tiles)
        events.append(Send(step, peer, offset, length, step % depth))
    events.append(Wait(steps, tuple(range(slots(Shape.SLAB, sizes)))))
    return tuple(events)


def _piece(sizes: Sizes, block: int, tile: int) -> tuple[int, int]:
    """Offset and length of one tile's stretch of a block."""
    stretch = sizes.stretch(tile)
    offset = block * sizes.count + stretch.start * sizes.elements
    return offset, len(stretch) * sizes.elements
