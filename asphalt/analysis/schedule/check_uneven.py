"""The check of schedules with blocks of different lengths (MPI_ALLTOALLV), for many small sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import accumulate, product

from asphalt.analysis.schedule.check import ProtocolError, check
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.schedule.uneven import RankSizes, UnevenSizes, origins_in, uneven_schedule
from asphalt.ir.records import record


@record
class Alltoallv:
    """The elements that MPI_ALLTOALLV moves (MPI-4.0 section 6.8), and how the producer fills the
    blocks."""

    shape: TileShape
    sizes: UnevenSizes

    def trips_of(self, rank: int) -> int:
        """The trip count of the producer on a rank."""
        return self.sizes.ranks[rank].trips

    def final_in(self, rank: int, element: int) -> int:
        """Slab: iteration i writes the i-th ``unit`` elements; else those of every block."""
        own = self.sizes.ranks[rank]
        if self.shape is not TileShape.SLAB:
            element -= max(d for d in own.displs if d <= element)
        iteration = element // own.unit
        return iteration if iteration < own.trips else -1

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Element j of the block from rank p is element j of the block for this rank there."""
        return origins_in(self.sizes.ranks[:ranks], rank)


def check_uneven_sizes(shape: TileShape, sizes: UnevenSizes) -> ProtocolError | None:
    """The fault of one pattern's schedule at given sizes; None: it has none."""
    programs = [uneven_schedule(shape, rank, sizes) for rank in range(len(sizes.ranks))]
    return check(programs, Alltoallv(shape, sizes))


def sizes_of(
    shape: TileShape,
    blocks: tuple[tuple[int, ...], ...],
    units: tuple[int, ...],
    pieces: tuple[int, ...],
    depth: int,
    extra: int = 0,
) -> UnevenSizes:
    """Sizes where rank a computes ``blocks[a][b]`` iterations of ``units[a]`` elements for rank b.

    Its messages have ``pieces[a]`` elements.

    ``extra``: iterations and elements of each block beyond what is sent of it (every block).
    """
    number = len(blocks)
    counts = [tuple(n * unit for n in row) for row, unit in zip(blocks, units, strict=True)]
    ranks: list[RankSizes] = []
    for rank, (row, unit) in enumerate(zip(counts, units, strict=True)):
        into = [counts[source][rank] for source in range(number)]
        landing = tuple(accumulate([1, *into[:-1]]))
        if shape is TileShape.SLAB:
            displs = tuple(accumulate([0, *row[:-1]]))
            ranks.append(RankSizes(row, displs, landing, unit, sum(blocks[rank])))
        else:
            trips = max(blocks[rank]) + extra
            displs = tuple(p * (unit * trips + extra) for p in range(number))
            ranks.append(RankSizes(row, displs, landing, unit, trips))
    return UnevenSizes(tuple(ranks), pieces, depth)


@cache
def check_uneven(shape: TileShape) -> ProtocolError | None:
    """The first fault of a pattern's schedule over small sizes.

    1 to 5 ranks; blocks of 0 to 3 iterations, different on each rank, so that trip counts differ
    and some ranks send or receive nothing; 0 to 3 elements for each iteration, different on each
    rank; pieces of 0 (not tiled) to 7 elements, different on each rank, so that some end inside of
    an iteration, and one rank that cannot tile; one and several tiles in flight.
    """
    for blocks, units in _examples():
        for piece, depth in product(range(8), (1, 3)):
            pieces = tuple(1 + (piece + 3 * rank) % 7 if piece else 0 for rank in range(len(units)))
            for told in {pieces, (*pieces[:-1], 0)}:
                sizes = sizes_of(shape, blocks, units, told, depth, extra=piece % 2)
                fault = check_uneven_sizes(shape, sizes)
                if fault is not None:
                    return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None


def _examples() -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
    """Blocks and units: all of one rank, and for more ranks a sequence that covers all
    remainders."""
    for length, unit in product(range(4), range(4)):
        yield ((length,),), (unit,)
    for ranks in range(2, 6):
        for turn in range(5):
            units = tuple((rank + turn) % 4 for rank in range(ranks))
            blocks = tuple(
                tuple((turn + 2 * rank + 3 * peer + rank * peer) % 4 for peer in range(ranks))
                for rank in range(ranks)
            )
            yield blocks, units
            # one rank without iterations, and one that receives nothing
            yield (
                tuple(
                    tuple(0 if peer == turn % ranks else n for peer, n in enumerate(row))
                    if rank != (turn + 1) % ranks
                    else (0,) * ranks
                    for rank, row in enumerate(blocks)
                ),
                units,
            )
