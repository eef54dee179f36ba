"""The check of collective operations in messages, for many small sizes.

``schedule.blocks`` gives the protocol as data, and ``schedule.check`` runs the ranks against each
other before anything is emitted, as for an exchange in tiles.  In addition, no iteration uses what
has not been received, and no rank sends on what it does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from asphalt.analysis.schedule.blocks import (
    BlockSizes,
    Pattern,
    Spread,
    blocks_schedule,
    spread_schedule,
)
from asphalt.analysis.schedule.check import Fault, ProtocolError, check
from asphalt.analysis.schedule.exchange import Compute, Post, RankProgram, Send, Wait
from asphalt.ir.records import record


@record
class _Blocks:
    """What an operation with a block for each rank moves, and when it may."""

    sizes: BlockSizes

    def trips_of(self, rank: int) -> int:
        """The iterations of both loops."""
        del rank
        return len(self.sizes.fills) + len(self.sizes.uses)

    def final_in(self, rank: int, element: int) -> int:
        """The iterations that access a block fill its elements in turn."""
        sizes = self.sizes
        for peer, count in enumerate(sizes.counts[rank]):
            inside = element - sizes.sent_from(rank, peer)
            if 0 <= inside < count:
                touched = sizes.touched(peer, count)
                place = touched[inside % len(touched)]
                return place - sizes.fills.start if place in sizes.fills else -1
        return -1

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Element j of the block from a rank is element j of the block for this rank there."""
        sizes = self.sizes
        return {
            sizes.lands_at(peer, rank) + n: (peer, sizes.sent_from(peer, rank) + n)
            for peer in range(ranks)
            if sizes.moves(peer, rank)
            for n in range(sizes.counts[peer][rank])
        }

    def needed(self, rank: int, iteration: int) -> Iterable[int]:
        """The elements of the receive buffer that an iteration uses."""
        sizes = self.sizes
        place = iteration - len(sizes.fills) + sizes.uses.start
        for peer, row in enumerate(sizes.counts if iteration >= len(sizes.fills) else ()):
            if sizes.moves(peer, rank) and place in sizes.touched(peer, row[rank]):
                first = sizes.lands_at(peer, rank)
                yield from range(first, first + row[rank])


@record
class _Spread:
    """What a broadcast moves, and when it may."""

    sizes: Spread

    def trips_of(self, rank: int) -> int:
        """The iterations of both loops."""
        del rank
        return self.sizes.planes * (self.sizes.fills + self.sizes.uses)

    def final_in(self, rank: int, element: int) -> int:
        """The root fills a plane in each iteration."""
        filled = self.sizes.fills and rank == self.sizes.root
        return element // self.sizes.plane if filled else -1

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Each rank but the root has the elements of the rank that sends to it."""
        del ranks
        parent = self.sizes.parent(rank)
        return {} if parent is None else {e: (parent, e) for e in range(self.sizes.elements)}

    def needed(self, rank: int, iteration: int) -> Iterable[int]:
        """The plane that an iteration uses."""
        plane = iteration - (self.sizes.planes if self.sizes.fills else 0)
        if plane < 0 or rank == self.sizes.root:
            return ()
        return range(plane * self.sizes.plane, (plane + 1) * self.sizes.plane)


def check_blocks_of(programs: Sequence[RankProgram], sizes: BlockSizes) -> ProtocolError | None:
    """The first fault of the programs of all ranks; None: they have none."""
    moves = _Blocks(sizes)
    fault = check(programs, moves) or _need_fault(programs, moves.needed)
    return fault or (_late_fault(programs, len(sizes.fills)) if sizes.late else None)


def _late_fault(programs: Sequence[RankProgram], fills: int) -> ProtocolError | None:
    """Nothing is received before the loop with so many iterations has ended."""
    for rank, program in enumerate(programs):
        posted = False
        for event in program:
            if isinstance(event, Compute) and posted and any(i < fills for i in event.iterations):
                return ProtocolError(Fault.EARLY_RECEIVE, f"rank {rank}, iteration {event.step}")
            posted = posted or isinstance(event, Post)
    return None


def check_spread_of(programs: Sequence[RankProgram], sizes: Spread) -> ProtocolError | None:
    """The first fault of the programs of all ranks of a broadcast; None: they have none."""
    moves = _Spread(sizes)
    return check(programs, moves) or _need_fault(programs, moves.needed, sizes.root)


def _need_fault(
    programs: Sequence[RankProgram],
    needed: Callable[[int, int], Iterable[int]],
    root: int | None = None,
) -> ProtocolError | None:
    """No iteration is executed before its data is received; ``root``: the only rank that sends its
    own data, so that the others send nothing on before they receive it."""
    for rank, program in enumerate(programs):
        pending: dict[int, Sequence[int]] = {}
        there: set[int] = set()
        for event in program:
            match event:
                case Post(slot=slot):
                    pending[slot] = event.elements
                case Wait(slots=slots):
                    there.update(e for slot in slots for e in pending.pop(slot, ()))
                case Send() if root not in (None, rank) and not there.issuperset(event.elements):
                    return ProtocolError(Fault.EARLY_SEND, f"rank {rank}, step {event.step}")
                case Compute(step=step, iterations=some):
                    if not all(there.issuperset(needed(rank, iteration)) for iteration in some):
                        return ProtocolError(Fault.UNRECEIVED, f"rank {rank}, iteration {step}")
                case _:
                    pass
    return None


@cache
def check_blocks(
    pattern: Pattern, *, fills: bool, uses: bool, planes: bool = False, late: bool = False
) -> ProtocolError | None:
    """The first fault of an operation with these loops, over small sizes.

    1 to 4 ranks, each of them as root; blocks of 0 to 3 elements, different on each rank; loops
    over all blocks, and over some; receives posted one by one, all at once, or more and more of
    them. ``planes``: several iterations access a block, on some ranks more than on others.
    ``late``: nothing is received before all blocks are filled.
    """
    for sizes in _block_sizes(pattern, fills, uses, planes, late):
        programs = [blocks_schedule(rank, sizes) for rank in range(sizes.ranks)]
        fault = check_blocks_of(programs, sizes)
        if fault is not None:
            return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None


def _block_sizes(
    pattern: Pattern, fills: bool, uses: bool, planes: bool, late: bool
) -> Iterator[BlockSizes]:
    for ranks, turn in product(range(1, 5), range(3)):
        counts = tuple(
            tuple((turn + 2 * rank + 3 * peer + rank * peer) % 4 for peer in range(ranks))
            for rank in range(ranks)
        )
        apart = tuple(range(2 * peer, 2 * peer + 1 + (peer + turn) % 3) for peer in range(ranks))
        last = apart[-1].stop if planes else ranks
        turned = (False, True) if pattern is Pattern.ALL else (False,)
        for root, turns in product(range(1 if pattern is Pattern.ALL else ranks), turned):
            for first, window, grows in product((0, 1), (1, 2, ranks), (False, True)):
                yield BlockSizes(
                    pattern,
                    counts,
                    root,
                    range(first, last) if fills else range(0),
                    range(first, last) if uses else range(0),
                    turns,
                    min(window, ranks),
                    grows,
                    apart if planes else None,
                    late,
                )


@cache
def check_spread(*, fills: bool, uses: bool) -> ProtocolError | None:
    """The first fault of a broadcast with these loops, over small sizes: 1 to 6 ranks, along a line
    and down a tree, each rank as root, pieces smaller and larger than a plane."""
    for ranks, line in product(range(1, 7), (True, False)):
        for root, planes, plane, piece in product(range(ranks), (1, 3), (1, 2), range(1, 5)):
            sizes = Spread(ranks, root, planes, plane, piece, line, fills, uses)
            programs = [spread_schedule(rank, sizes) for rank in range(ranks)]
            fault = check_spread_of(programs, sizes)
            if fault is not None:
                return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None
