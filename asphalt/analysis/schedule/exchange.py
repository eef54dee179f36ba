"""The run-time behaviour of a plan, as one abstract program for each rank.

The protocol is data: ``schedule`` gives, for every rank, the sequence of events that the emitted
code executes, and ``schedule.check`` checks it before anything is emitted.  Offsets and lengths are
in elements, from the start of the send or receive buffer; ranks, tiles and iterations count from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from math import prod

from asphalt.ir.records import record

Dims = tuple[tuple[int, int], ...]  # extent and stride of each dimension, the fastest one first


def section(offset: int, dims: Dims) -> tuple[int, ...]:
    """The elements of a regular section, in the order in which a message has them."""
    found: tuple[int, ...] = (offset,)
    for extent, stride in dims:
        found = tuple(start + step * stride for step in range(extent) for start in found)
    return found


@record
class Compute:
    """The iterations of one tile are executed."""

    step: int
    iterations: range


@record
class Message:
    """A side of a message: its request goes to ``slot``.

    ``dims``: extents and strides of its ``length`` elements where they are not contiguous.
    """

    step: int
    peer: int
    offset: int
    length: int
    slot: int
    dims: Dims | None = None

    @property
    def elements(self) -> Sequence[int]:
        """The elements, in the order of the message."""
        if self.dims is None:
            return range(self.offset, self.offset + self.length)
        return section(self.offset, self.dims)


@record
class Post(Message):
    """A receive from ``peer`` is posted."""


@record
class Send(Message):
    """A send to ``peer`` is started."""


@record
class Wait:
    """All requests in ``slots`` are completed; an empty slot is not waited for."""

    step: int
    slots: tuple[int, ...]


@record
class Collective:
    """The original call, on the branch that is not tiled."""


Event = Compute | Post | Send | Wait | Collective
RankProgram = tuple[Event, ...]


class TileShape(Enum):
    """The elements that a tile of K iterations sends."""

    EVERY_BLOCK = "every block"  # the same stretch of each rank's block: a message to every rank
    STRIDED = "strided"  # every block, but the stretch is a set of equally strided runs
    SLAB = "slab"  # one contiguous stretch of one rank's block; the blocks in rotated order


@record
class Reach:
    """The position of the producer's iterations relative to the planes that are sent.

    ``before``, ``behind``: planes before that of the first iteration and behind that of the last,
    in the order of the loop (every block: of a block; slab: of the whole buffer).  Negative: that
    many iterations have no plane.  ``late``: an iteration may still write this many planes back.
    """

    before: int
    late: int
    behind: int


@record
class Sizes:
    """The sizes of one execution of a site.

    ``trips``: planes of one block (without ``reach``, that many iterations fill it). ``elements``:
    elements of a plane.  ``tile`` (K) and ``depth`` (D); ``tile`` 0: not tiled. ``reach`` None:
    each iteration completes one plane, and all of them all planes.

    Strided: ``runs`` are the runs of a tile in a block, so that ``elements`` is what one iteration
    adds to each of them.  ``order``: the four dimensions of what is sent (0: ``elements``, 1:
    ``trips``, 2: ``runs``, 3: ``ranks``) from the fastest to the slowest in the array that is sent
    from; that of the blocks, unless a packing copy is removed.
    """

    ranks: int
    trips: int
    elements: int
    tile: int
    depth: int
    reach: Reach | None = None
    runs: int = 1
    order: tuple[int, int, int, int] = (0, 1, 2, 3)

    @property
    def count(self) -> int:
        """Elements of one block: what the collective sends from each rank to each rank."""
        return self.trips * self.elements * self.runs

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """The extents of the four dimensions."""
        return (self.elements, self.trips, self.runs, self.ranks)

    @property
    def strides(self) -> tuple[int, int, int, int]:
        """Elements between neighbours of the four dimensions in the array that is sent from."""
        faster = [self.order[: self.order.index(dimension)] for dimension in range(4)]
        a, b, c, d = (prod(self.extents[other] for other in others) for others in faster)
        return a, b, c, d

    @property
    def tiled(self) -> bool:
        """Whether the exchange is prepushed; the original call executes a degenerate one."""
        return self.tile > 0 and self.count > 0

    @property
    def tiles(self) -> int:
        """Tiles in which one block is filled; the last may be shorter."""
        return -(-self.trips // self.tile)

    def stretch(self, tile: int) -> range:
        """The iterations of one tile, within a block."""
        return range(tile * self.tile, min((tile + 1) * self.tile, self.trips))


def schedule(shape: TileShape, rank: int, sizes: Sizes) -> RankProgram:
    """The events of one rank, in program order."""
    match shape:
        case TileShape.EVERY_BLOCK:
            return _every_block(rank, sizes)
        case TileShape.STRIDED:
            return _strided(rank, sizes)
        case TileShape.SLAB:
            return _slab(rank, sizes)


def slots(shape: TileShape, sizes: Sizes) -> int:
    """The size of the request array: D tiles of sends, 2 D tiles of receives."""
    return 3 * sizes.depth * (1 if shape is TileShape.SLAB else sizes.ranks)


def iterations(shape: TileShape, sizes: Sizes) -> int:
    """The trip count of the producer's loop."""
    planes = sizes.trips * sizes.ranks if shape is TileShape.SLAB else sizes.trips
    outside = 0 if sizes.reach is None else sizes.reach.before + sizes.reach.behind
    return max(0, planes - outside)


def last_writer(shape: TileShape, sizes: Sizes) -> Callable[[int], int]:
    """The iteration of the producer that makes an element of the send buffer final.

    -1: the loop does not write it.  With a reach, an iteration may write its own plane; in the
    every-block shape also any plane behind it, and as many before it as it is late.
    """
    reach = sizes.reach or Reach(0, 0, 0)
    trips = iterations(shape, sizes)

    def writes(iteration: int, plane: int) -> bool:
        own = reach.before + iteration
        return plane == own if shape is TileShape.SLAB else plane >= own - reach.late

    def last(element: int) -> int:
        block = element if shape is TileShape.SLAB else element % sizes.count
        plane = block // sizes.elements
        return max((i for i in range(trips) if writes(i, plane)), default=-1)

    if sizes.reach is not None:
        return last
    if shape is TileShape.SLAB:
        return lambda element: element // sizes.elements
    stride = sizes.strides[1]
    return lambda element: element // stride % sizes.trips


def source(sizes: Sizes) -> Callable[[int, int], int]:
    """Where element ``j`` of the block for ``rank`` lies in the array that is sent from."""

    def lies(rank: int, element: int) -> int:
        inner, rest = element % sizes.elements, element // sizes.elements
        place = (inner, rest % sizes.trips, rest // sizes.trips, rank)
        return sum(index * stride for index, stride in zip(place, sizes.strides, strict=True))

    return lies


def _strided(rank: int, sizes: Sizes) -> RankProgram:
    """The events of ``every block``, each message a section: elements, iterations, runs."""
    packed = (1, sizes.elements, sizes.elements * sizes.trips, sizes.count)

    def part(event: Event) -> Event:
        if not isinstance(event, Post | Send):
            return event
        strides = packed if isinstance(event, Post) else sizes.strides
        stretch = sizes.stretch(event.step)
        extents = (sizes.elements, len(stretch), sizes.runs)
        offset = event.peer * strides[3] + stretch.start * strides[1]
        dims = tuple(zip(extents, strides[:3], strict=True))
        return replace(event, offset=offset, length=prod(extents), dims=dims)

    return tuple(part(event) for event in _every_block(rank, sizes))


@record
class _Tile:
    """The iterations of one tile, and the planes of each block that it sends."""

    iterations: range
    planes: range


def _tiles(sizes: Sizes) -> tuple[_Tile, ...]:
    """The tiles of the every-block shape."""
    if sizes.reach is None:
        stretches = [sizes.stretch(tile) for tile in range(sizes.tiles)]
        return tuple(_Tile(stretch, stretch) for stretch in stretches)
    reach = sizes.reach
    trips = iterations(TileShape.EVERY_BLOCK, sizes)
    ready = reach.before - reach.late
    empty = 1 if ready > 0 else 0  # a tile without iterations sends what is final before the loop
    tiles = empty + -(-trips // sizes.tile)
    found = []
    for tile in range(tiles):
        first = max(0, tile - empty) * sizes.tile
        stop = min((tile - empty + 1) * sizes.tile, trips)
        planes = window(tile, tiles, sizes.tile, ready - empty * sizes.tile, sizes.trips)
        found.append(_Tile(range(first, stop), planes))
    return tuple(found)


def window(tile: int, tiles: int, k: int, ready: int, block: int) -> range:
    """The planes of a block that a tile sends, where they are not those of its iterations.

    Before tile t, ``ready`` + t ``k`` planes of the ``block`` are final; the last tile sends the
    rest.
    """
    start = min(max(ready + tile * k, 0), block) if tile > 0 else 0
    stop = min(max(ready + (tile + 1) * k, 0), block) if tile < tiles - 1 else block
    return range(start, stop)


def _every_block(rank: int, sizes: Sizes) -> RankProgram:
    """Tile t sends the same stretch of every block, one message to each rank.

    Receives are posted D tiles in advance.  After tile t is computed, the sends and receives of
    tile t-D are completed; the sends of tile t then take the freed slots.  A tile in which no plane
    becomes final sends nothing.
    """
    trips = iterations(TileShape.EVERY_BLOCK, sizes)
    if not sizes.tiled or trips == 0:
        return (Compute(0, range(trips)), Collective())
    ranks, depth = sizes.ranks, sizes.depth
    tiles = _tiles(sizes)
    events: list[Event] = []
    posted = 0
    for step, tile in enumerate(tiles):
        limit = min(step + depth, len(tiles))
        for ahead in range(posted, limit):
            slot = ranks * (depth + ahead % (2 * depth))
            for turn in range(1, ranks + 1) if tiles[ahead].planes else ():
                source = (rank - turn) % ranks
                offset, length = _piece(sizes, source, tiles[ahead].planes)
                events.append(Post(ahead, source, offset, length, slot + turn - 1))
        posted = max(posted, limit)
        events.append(Compute(step, tile.iterations))
        slot = ranks * (step % depth)
        waited = list(range(slot, slot + ranks))
        if step >= depth:
            received = ranks * (depth + (step - depth) % (2 * depth))
            waited += range(received, received + ranks)
        events.append(Wait(step, tuple(waited)))
        for turn in range(1, ranks + 1) if tile.planes else ():
            peer = (rank + turn) % ranks
            offset, length = _piece(sizes, peer, tile.planes)
            events.append(Send(step, peer, offset, length, slot + turn - 1))
    events.append(Wait(len(tiles), tuple(range(slots(TileShape.EVERY_BLOCK, sizes)))))
    return tuple(events)


def _slab(rank: int, sizes: Sizes) -> RankProgram:
    """Step t fills a stretch of the block of one rank and sends it there.

    Rank r starts at the block of rank r+1 and wraps around, so that no two ranks send to the same
    one; in the same step it receives from the rank that sends to it.  Of the planes of a step,
    those that the loop reaches are computed; the others are final before.
    """
    trips = iterations(TileShape.SLAB, sizes)
    reach = sizes.reach or Reach(0, 0, 0)
    if not sizes.tiled or reach.before < 0 or reach.before + trips > sizes.ranks * sizes.trips:
        return (Compute(0, range(trips)), Collective())
    ranks, depth = sizes.ranks, sizes.depth
    steps = sizes.tiles * ranks
    events: list[Event] = []
    posted = 0
    for step in range(steps):
        limit = min(step + depth, steps)
        for ahead in range(posted, limit):
            source = (rank - 1 - ahead // sizes.tiles) % ranks
            offset, length = _piece(sizes, source, sizes.stretch(ahead % sizes.tiles))
            events.append(Post(ahead, source, offset, length, depth + ahead % (2 * depth)))
        posted = max(posted, limit)
        peer = (rank + 1 + step // sizes.tiles) % ranks
        stretch = sizes.stretch(step % sizes.tiles)
        first = peer * sizes.trips - reach.before
        start, stop = max(0, first + stretch.start), min(first + stretch.stop, trips)
        events.append(Compute(step, range(start, stop) if start < stop else range(0)))
        waited = [step % depth]
        if step >= depth:
            waited.append(depth + (step - depth) % (2 * depth))
        events.append(Wait(step, tuple(waited)))
        offset, length = _piece(sizes, peer, stretch)
        events.append(Send(step, peer, offset, length, step % depth))
    events.append(Wait(steps, tuple(range(slots(TileShape.SLAB, sizes)))))
    return tuple(events)


def _piece(sizes: Sizes, block: int, planes: range) -> tuple[int, int]:
    """Offset and length of some planes of a block."""
    return block * sizes.count + planes.start * sizes.elements, len(planes) * sizes.elements
