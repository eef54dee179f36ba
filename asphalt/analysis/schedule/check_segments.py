"""The check of the schedule of a message in segments: each rank sends to the next one.

As ``protocol_pipeline``, for what ``transforms.segment_tiles`` writes: the nest in front of the
send is executed in tiles, each with its segment, and the nest behind the receive tile by tile as
the segments come (Danalis et al., ICS 2009, section 5, "CCTP").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from asphalt.analysis.schedule.check import ProtocolError, check
from asphalt.analysis.schedule.check_pipeline import TiledMessages, need_fault, small_sizes
from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait


class Posted(Enum):
    """Where a rank posts what it receives: in front of the nest that fills what it sends; behind
    that, while its send is under way; or when that is complete, as where another branch receives.
    """

    AHEAD = "ahead"
    BETWEEN = "between"
    BEHIND = "behind"

    @classmethod
    def at(cls, receives: int, sends: int, waits: int) -> Posted:
        """Where a receive is posted, by the places of it, of the start of a send, and of the wait
        for that."""
        if receives < sends:
            return cls.AHEAD
        return cls.BETWEEN if receives < waits else cls.BEHIND


@dataclass(frozen=True, slots=True)
class Shift(TiledMessages):
    """Each rank sends to the next one and receives from the one before it, with a nest for either.

    ``trips``: iterations of either nest.  ``posted``: where the receives are posted.  ``ring``: the
    last rank sends to the first one.
    """

    posted: Posted
    ring: bool

    def trips_of(self, rank: int) -> int:
        """The iterations of all turns, those of both nests."""
        return self.turns * self.trips * (2 if self.source(rank) is not None else 1)

    def source(self, rank: int) -> int | None:
        """Whom a rank receives from."""
        return (rank - 1) % self.ranks if rank > 0 or self.ring else None

    def target(self, rank: int) -> int | None:
        """Whom a rank sends to."""
        return (rank + 1) % self.ranks if rank < self.ranks - 1 or self.ring else None

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """What the rank before has; the first one of a chain gets nothing."""
        del ranks
        source = self.source(rank)
        if source is None:
            return {}
        number = self.turns * self.trips * self.elements
        return {element: (source, element) for element in range(number)}


def shift_schedule(rank: int, sizes: Shift) -> RankProgram:
    """What a rank does: it fills a message, sends it, receives one, and uses it."""
    return tuple(event for turn in range(sizes.turns) for event in _turn(rank, turn, sizes))


def _turn(rank: int, turn: int, sizes: Shift) -> Iterator[Event]:
    source, target = sizes.source(rank), sizes.target(rank)
    tiles = range(0, sizes.trips, sizes.tile)
    all_first = sizes.turns * sizes.trips  # of the iterations that use what is received

    def posted() -> Iterator[Event]:
        for step, lo in enumerate(tiles):
            if source is not None:
                yield Post(step, source, *sizes.part(turn, lo), slot=lo)

    def waited() -> Iterator[Event]:
        for step, lo in enumerate(tiles):
            if target is not None:
                yield Wait(step, (sizes.trips + lo,))

    if sizes.posted is Posted.AHEAD:
        yield from posted()
    for step, lo in enumerate(tiles):
        yield Compute(step, sizes.iterations(turn, lo))
        if target is not None:
            if sizes.paced and step >= sizes.depth:
                yield Wait(step, (sizes.trips + lo - sizes.depth * sizes.tile,))
            yield Send(step, target, *sizes.part(turn, lo), slot=sizes.trips + lo)
    if sizes.posted is Posted.BEHIND:
        yield from waited()
    if sizes.posted is not Posted.AHEAD:
        yield from posted()
    for step, lo in enumerate(tiles):
        if source is not None:
            yield Wait(step, (lo,))
            own = sizes.iterations(turn, lo)
            yield Compute(step, range(all_first + own.start, all_first + own.stop))
    if sizes.posted is not Posted.BEHIND:
        yield from waited()


def check_shift(programs: Sequence[RankProgram], sizes: Shift) -> ProtocolError | None:
    """The first fault of the programs of all ranks, if they have one."""
    used = sizes.turns * sizes.trips
    receiving = [p for rank, p in enumerate(programs) if sizes.source(rank) is not None]
    return check(programs, sizes) or need_fault(receiving, sizes.elements, used)


@cache
def check_segments(paced: bool, posted: Posted, most: int = 3) -> ProtocolError | None:
    """The first fault of rings and chains over small sizes.

    A ring whose ranks wait for what they send before they post is none that a program can rely on.
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
