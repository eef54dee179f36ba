"""The check of a pipeline's schedule: a chain of ranks that pass on a message in tiles.

The protocol is data: what every rank posts, computes, sends and waits for in an execution of the
nest in tiles, as ``transforms.tiling.message_tiles`` writes it, over some iterations of a loop
around it (Danalis et al., ICS 2009, section 5, "CCTP").  ``schedule.check`` runs the ranks against
each other; its rules for exchanges between all ranks hold for a chain as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from asphalt.analysis.schedule.check import Fault, ProtocolError, check
from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait
from asphalt.ir.records import record


@record
class TiledMessages:
    """The sizes of a nest whose message is sent in parts, one for each tile.

    ``trips``: iterations of the nest; ``elements``: of the message for each of them; ``executions``
    of the nest; ``tile``, ``depth``: K and D; ``paced``: a part is sent when the one D tiles before
    it is complete, else all waits follow the nest.
    """

    ranks: int
    trips: int
    elements: int
    tile: int
    depth: int
    executions: int
    paced: bool

    def final_in(self, rank: int, element: int) -> int:
        """Each iteration defines its own elements of what is sent."""
        del rank
        return element // self.elements

    def iterations(self, execution: int, lo: int) -> range:
        """The iterations, over all executions, of the tile that begins with iteration ``lo``."""
        first = execution * self.trips
        return range(first + lo, first + min(lo + self.tile, self.trips))

    def part(self, execution: int, lo: int) -> tuple[int, int]:
        """Offset and length of the part of the message for that tile."""
        own = self.iterations(execution, lo)
        return own.start * self.elements, len(own) * self.elements


@record
class Chain(TiledMessages):
    """A chain of ranks: each receives from the one before it and sends to the next."""

    def trips_of(self, rank: int) -> int:
        """The iterations of all executions, the same on all ranks."""
        del rank
        return self.executions * self.trips

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Each rank but the first has the elements of the one before it."""
        del ranks
        number = self.executions * self.trips * self.elements if rank > 0 else 0
        return {element: (rank - 1, element) for element in range(number)}


def pipeline_schedule(rank: int, sizes: Chain) -> RankProgram:
    """The events of a rank: it receives from the previous rank and sends to the next."""
    return tuple(
        event
        for execution in range(sizes.executions)
        for event in _execution(rank, execution, sizes)
    )


def _execution(rank: int, execution: int, sizes: Chain) -> Iterator[Event]:
    receives, sends = rank > 0, rank < sizes.ranks - 1
    tiles = range(0, sizes.trips, sizes.tile)
    for step, lo in enumerate(tiles if receives else ()):
        yield Post(step, rank - 1, *sizes.part(execution, lo), slot=lo)
    for step, lo in enumerate(tiles):
        if receives:
            yield Wait(step, (lo,))
        yield Compute(step, sizes.iterations(execution, lo))
        if sends:
            if sizes.paced and step >= sizes.depth:
                yield Wait(step, (sizes.trips + lo - sizes.depth * sizes.tile,))
            yield Send(step, rank + 1, *sizes.part(execution, lo), slot=sizes.trips + lo)
    for step, lo in enumerate(tiles if sends else ()):
        yield Wait(step, (sizes.trips + lo,))


def check_chain(programs: Sequence[RankProgram], sizes: Chain) -> ProtocolError | None:
    """The first fault of the programs of all ranks of a chain; None: they have none."""
    return check(programs, sizes) or need_fault(programs[1:], sizes.elements)


def need_fault(
    programs: Sequence[RankProgram], elements: int, begin: int = 0
) -> ProtocolError | None:
    """No iteration from ``begin`` on is executed before its part of the message is received, on
    ranks that receive one: ``elements`` for each iteration."""
    for number, program in enumerate(programs):
        pending: dict[int, range] = {}
        there: set[int] = set()
        for event in program:
            match event:
                case Post(slot=slot):
                    pending[slot] = range(event.offset, event.offset + event.length)
                case Wait(slots=slots):
                    there.update(e for slot in slots for e in pending.pop(slot, range(0)))
                case Compute(step=step, iterations=some) if some.start >= begin:
                    needed = range((some.start - begin) * elements, (some.stop - begin) * elements)
                    if not there.issuperset(needed):
                        return ProtocolError(
                            Fault.UNRECEIVED, f"receiving rank {number}, step {step}, {some}"
                        )
                case _:
                    pass
    return None


def small_sizes(most: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Ranks, iterations, elements, K, D and executions: 1 to ``most`` ranks, up to ``most`` tiles
    in flight and one iteration more, K up to longer than the nest, one and two executions.

    All longer K are one tile, and no more tiles are in flight than there are: of sizes with the
    same schedule, the smallest ones.
    """
    for ranks, trips, elements, executions in product(
        range(1, most + 1), range(1, most + 2), (1, 2), (1, 2)
    ):
        for tile in range(1, trips + 2):
            for depth in range(1, min(most, -(-trips // tile)) + 1):
                yield ranks, trips, elements, tile, depth, executions


@cache
def check_pipeline(paced: bool, most: int = 3) -> ProtocolError | None:
    """The first fault of a pipeline over small sizes."""
    for one in (Chain(*numbers, paced) for numbers in small_sizes(most)):
        programs = [pipeline_schedule(rank, one) for rank in range(one.ranks)]
        fault = check_chain(programs, one)
        if fault is not None:
            return ProtocolError(fault.kind, f"{fault.witness}; {one}")
    return None
