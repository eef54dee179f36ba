"""The check of schedules where an iteration adds more to one block than to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import accumulate, product

from asphalt.analysis.schedule.check import ProtocolError, check
from asphalt.analysis.schedule.exchange import (
    Collective,
    Compute,
    Event,
    Post,
    RankProgram,
    Send,
    Wait,
)
from asphalt.analysis.schedule.uneven import ScheduledBlocks, cuts, origins_in
from asphalt.ir.records import record


@record
class PackedRank(ScheduledBlocks):
    """``units``: elements that an iteration adds to the block for each; ``trips``: iterations."""

    units: tuple[int, ...]
    trips: int


@record
class PackedSizes:
    """An execution of a site: ``tile`` is K, 0 where the run decides not to tile; ``depth`` D."""

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


@record
class PackedExchange:
    """The elements that MPI_ALLTOALLV moves (MPI-4.0 section 6.8), with blocks that all iterations
    fill."""

    sizes: PackedSizes

    def trips_of(self, rank: int) -> int:
        """The trip count of the producer on a rank."""
        return self.sizes.ranks[rank].trips

    def final_in(self, rank: int, element: int) -> int:
        """Iteration i writes the i-th ``units`` elements of every block."""
        own = self.sizes.ranks[rank]
        for unit, begin in zip(own.units, own.displs, strict=True):
            if begin <= element < begin + unit * own.trips:
                return (element - begin) // unit
        return -1

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Element j of the block from rank p is element j of the block for this rank there."""
        return origins_in(self.sizes.ranks[:ranks], rank)


def check_packed_sizes(sizes: PackedSizes) -> ProtocolError | None:
    """The fault of the schedule at given sizes; None: it has none."""
    programs = [packed_schedule(rank, sizes) for rank in range(len(sizes.ranks))]
    return check(programs, PackedExchange(sizes))


def packed_sizes(
    units: tuple[tuple[int, ...], ...],
    trips: tuple[int, ...],
    tile: int,
    depth: int,
    without: int | None = None,
) -> PackedSizes:
    """Sizes where rank a adds ``units[a][b]`` elements for rank b in each of its ``trips[a]``.

    ``without`` 1: no rank sends its own block; 2: the elements of the last iteration are not sent.
    """
    number = len(units)
    counts = [
        tuple(
            0
            if without == 1 and peer == rank
            else unit * max(0, trips[rank] - (1 if without == 2 else 0))
            for peer, unit in enumerate(row)
        )
        for rank, row in enumerate(units)
    ]
    ranks = []
    for rank, row in enumerate(units):
        displs = tuple(accumulate([0, *(unit * trips[rank] for unit in row[:-1])]))
        into = [counts[source][rank] for source in range(number)]
        landing = tuple(accumulate([1, *into[:-1]]))
        ranks.append(PackedRank(counts[rank], displs, landing, row, trips[rank]))
    return PackedSizes(tuple(ranks), tile, depth)


@cache
def check_packed() -> ProtocolError | None:
    """The first fault of the schedule over small sizes.

    1 to 4 ranks; 0 to 3 elements for each iteration and block, all different; 0 to 3 iterations,
    different on each rank, none on some; K from 0 (not tiled) to 4; one and several tiles in
    flight; with and without the own block; with and without the elements of the last iteration.
    """
    for units, trips in _examples():
        for tile, depth, without in product(range(5), (1, 3), (None, 1, 2)):
            sizes = packed_sizes(units, trips, tile, depth, without)
            fault = check_packed_sizes(sizes)
            if fault is not None:
                return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None


def _examples() -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
    for unit, trips in product(range(3), range(4)):
        yield ((unit,),), (trips,)
    for ranks, turn in product(range(2, 5), range(4)):
        units = tuple(
            tuple((turn + 2 * rank + 3 * peer + rank * peer) % 4 for peer in range(ranks))
            for rank in range(ranks)
        )
        yield units, tuple((turn + 3 * rank) % 4 for rank in range(ranks))
