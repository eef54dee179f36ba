"""The check of the schedule of a message in segments: each rank sends to the next one.

Like ``check_pipeline``, for what ``transforms.tiling.segment_tiles`` writes: the nest in front of
the send is executed in tiles, each with its segment, and the nest behind the receive tile by tile
as the segments are received (Danalis et al., ICS 2009, section 5, "CCTP").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache

from asphalt.analysis.schedule.check import ProtocolError, check
from asphalt.analysis.schedule.check_pipeline import TiledMessages, need_fault, small_sizes
from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait
from asphalt.ir.records import record


class Posted(Enum):
    """Where a rank posts its receives: before the nest that fills what it sends; after that nest,
    while its send is in progress; or after the send is complete, as where another branch receives.
    """

    AHEAD = "ahead"
    BETWEEN = "between"
    BEHIND = "behind"

    @classmethod
    def at(cls, receives: int, sends: int, waits: int) -> Posted:
        """Where a receive is posted, from its position and those of a send's start and wait."""
        if receives < sends:
            return cls.AHEAD
        return cls.BETWEEN if receives < waits else cls.BEHIND


@record
class Shift(TiledMessages):
    """Each rank sends to the next one and receives from the one before it, with a nest for either.

    ``trips``: iterations of either nest.  ``posted``: where the receives are posted.  ``ring``: the
    last rank sends to the first one.
    """

    posted: Posted
    ring: bool

    def trips_of(self, rank: int) -> int:
        """The iterations of all executions, those of both nests."""
        return self.executions * self.trips * (2 if self.source(rank) is not None else 1)

    def source(self, rank: int) -> int | None:
        """The rank that a rank receives from."""
        return (rank - 1) % self.ranks if rank > 0 or self.ring else None

    def target(self, rank: int) -> int | None:
        """The rank that a rank sends to."""
        return (rank + 1) % self.ranks if rank < self.ranks - 1 or self.ring else None

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """The elements of the rank before; the first rank of a chain receives none."""
        del ranks
        source = self.source(rank)
        if source is None:
            return {}
        number = self.executions * self.trips * self.elements
        return {element: (source, element) for element in range(number)}


def shift_schedule(rank: int, sizes: Shift) -> RankProgram:
    """The events of a rank: it fills a message, sends it, receives one, and uses it."""
    return tuple(
        event
        for execution in range(sizes.executions)
        for event in _execution(rank, execution, sizes)
    )


def _execution(rank: int, execution: int, sizes: Shift) -> Iterator[Event]:
    source, target = sizes.source(rank), sizes.target(rank)
    tiles = range(0, sizes.trips, sizes.tile)
    all_first = sizes.executions * sizes.trips  # of the iterations that use what is received

    def posted() -> Iterator[Event]:
        for step, lo in enumerate(tiles):
            if source is not None:
                yield Post(step, source, *sizes.part(execution, lo), slot=lo)

    def waited() -> Iterator[Event]:
        for step, lo in enumerate(tiles):
            if target is not None:
                yield Wait(step, (sizes.trips + lo,))

    if sizes.posted is Posted.AHEAD:
        yield from posted()
    for step, lo in enumerate(tiles):
        yield Compute(step, sizes.iterations(execution, lo))
        if target is not None:
            if sizes.paced and step >= sizes.depth:
                yield Wait(step, (sizes.trips + lo - sizes.depth * sizes.tile,))
            yield Send(step, target, *sizes.part(execution, lo), slot=sizes.trips + lo)
    if sizes.posted is Posted.BEHIND:
        yield from waited()
    if sizes.posted is not Posted.AHEAD:
        yield from posted()
    for step, lo in enumerate(tiles):
        if source is not None:
            yield Wait(step, (lo,))
            own = sizes.iterations(execution, lo)
            yield Compute(step, range(all_first + own.start, all_first + own.stop))
    if sizes.posted is not Posted.BEHIND:
        yield from waited()


def check_shift(programs: Sequence[RankProgram], sizes: Shift) -> ProtocolError | None:
    """The first fault of the programs of all ranks; None: they have none."""
    used = sizes.executions * sizes.trips
    receiving = [p for rank, p in enumerate(programs) if sizes.source(rank) is not None]
    return check(programs, sizes) or need_fault(receiving, sizes.elements, used)


@cache
def check_segments(paced: bool, posted: Posted, most: int = 3) -> ProtocolError | None:
    """The first fault of rings and chains over small sizes.

    A ring whose ranks wait for their sends before they post their receives is not checked: programs
    cannot rely on it.
    """
    rings = (False,) if posted is Posted.BEHIND else (False, True)
    for numbers in small_sizes(most):
        for ring in rings:
            one = Shift(*numbers, paced, posted, ring)
            programs = [shift_schedule(rank, one) for rank in range(one.ranks)]
            fault = check_shift(programs, one)
            if fault is not None:
                return ProtocolError(fault.kind, f"{fault.witness}; {one}")
    return None
