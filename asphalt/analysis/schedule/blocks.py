"""The run-time behaviour of a collective operation in messages, as one abstract program for each
rank.

It is that of module ``asphalt_decomposition`` of the run-time library, with the loops that fill and
use the blocks (``transforms.decomposition``): sends of blocks that are filled, receives that are
posted a few at a time, waits for what an iteration uses.  MPI_TEST counts as finding nothing
complete, which leaves most to the waits.  Blocks and iterations count from 0; the iterations of the
loop that uses blocks are numbered after those of the loop that fills them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait
from asphalt.ir.records import record


class Pattern(Enum):
    """Between which ranks an operation has blocks."""

    ALL = "from all to all"
    GATHER = "from all to the root"
    SCATTER = "from the root to all"


@record
class BlockSizes:
    """The sizes of one execution.

    ``counts``: the elements that the row's rank has for the column's.  ``fills``, ``uses``: the
    iterations of the two loops; ``turned``: they begin with another block on each rank. ``planes``:
    for each rank, the iterations that access its block, if not the one of its number
    (MPI_ALLTOALLW).  ``window``: the receives posted at first; ``grows``: each wait doubles it.
    ``late``: nothing is received before the loop that fills the blocks has ended.
    """

    pattern: Pattern
    counts: tuple[tuple[int, ...], ...]
    root: int
    fills: range
    uses: range
    turned: bool
    window: int
    grows: bool = False
    planes: tuple[range, ...] | None = None
    late: bool = False

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.counts)

    def moves(self, sender: int, receiver: int) -> bool:
        """Whether there is a block from one rank to another."""
        match self.pattern:
            case Pattern.ALL:
                return True
            case Pattern.GATHER:
                return receiver == self.root
            case Pattern.SCATTER:
                return sender == self.root

    def touched(self, block: int, count: int) -> range:
        """The iterations that fill or use a block with so many elements."""
        if self.planes is None:
            return range(block, block + 1)
        return self.planes[block] if count > 0 else range(0)

    def sent_from(self, sender: int, receiver: int) -> int:
        """The first element of a block in the send buffer."""
        return sum(self.counts[sender][:receiver])

    def lands_at(self, sender: int, receiver: int) -> int:
        """The first element of a block in the receive buffer."""
        return sum(row[receiver] for row in self.counts[:sender])


def blocks_schedule(rank: int, sizes: BlockSizes) -> RankProgram:
    """The events of one rank, in program order."""
    return tuple(_Rank(rank, sizes).events())


class _Rank:
    """One rank: ``left_out``, ``left_in``: the blocks whose messages have not been started."""

    def __init__(self, rank: int, sizes: BlockSizes) -> None:
        self.rank = rank
        self.sizes = sizes
        peers = range(sizes.ranks)
        self.left_out = {p for p in peers if sizes.moves(rank, p)}
        self.left_in = {p for p in peers if sizes.moves(p, rank)}
        self.under_way: set[int] = set()
        self.window = sizes.ranks if sizes.fills else sizes.window

    def events(self) -> Iterator[Event]:
        sizes, peers = self.sizes, range(self.sizes.ranks)
        others = [(self.rank + turn) % sizes.ranks for turn in (*peers[1:], 0)]
        own = self._own_place()
        if not sizes.late:
            yield from self._post()
        missing = {p: set(self._filled(p)) for p in peers}
        for place in _order(sizes.fills, own + 1, 1, sizes.turned):
            yield Compute(place, range(place - sizes.fills.start, place - sizes.fills.start + 1))
            for peer in others:
                if place in missing[peer]:
                    missing[peer].discard(place)
                    if not missing[peer] and not (sizes.late and peer == self.rank):
                        yield from self._send(peer)
        if sizes.late:
            yield from self._post()
        for peer in others:
            yield from self._send(peer)
        behind = len(sizes.fills) - sizes.uses.start
        for place in _order(sizes.uses, own, -1, sizes.turned):
            used = (p for p in peers if place in self._used(p))
            yield from self._await({p for p in used if sizes.moves(p, self.rank)})
            yield Compute(place, range(place + behind, place + behind + 1))
        self.window = sizes.ranks
        yield from self._post()
        yield Wait(sizes.ranks, tuple(peers))
        yield Wait(sizes.ranks, tuple(sizes.ranks + peer for peer in peers))

    def _own_place(self) -> int:
        touched = self._used(self.rank)
        return touched[-1] if touched else self.rank

    def _filled(self, peer: int) -> range:
        return self.sizes.touched(peer, self.sizes.counts[self.rank][peer])

    def _used(self, peer: int) -> range:
        return self.sizes.touched(peer, self.sizes.counts[peer][self.rank])

    def _receive(self, peer: int) -> Iterator[Event]:
        """The receive from a rank; the own block is copied when it would be sent."""
        if peer in self.left_in:
            self.left_in.discard(peer)
            if peer != self.rank:
                self.under_way.add(peer)
                yield self._posted(peer)

    def _posted(self, peer: int) -> Post:
        where = self.sizes.lands_at(peer, self.rank)
        return Post(peer, peer, where, self.sizes.counts[peer][self.rank], slot=peer)

    def _post(self) -> Iterator[Event]:
        """The next receives, as many as may be in progress."""
        ranks = self.sizes.ranks
        first, direction = (self.rank, -1) if self.sizes.pattern is Pattern.ALL else (-1, 1)
        for turn in range(1, ranks + 1):
            if len(self.under_way) >= self.window:
                return
            yield from self._receive((first + direction * turn) % ranks)

    def _send(self, peer: int) -> Iterator[Event]:
        if peer not in self.left_out:
            return
        self.left_out.discard(peer)
        where, slot = self.sizes.sent_from(self.rank, peer), self.sizes.ranks + peer
        send = Send(peer, peer, where, self.sizes.counts[self.rank][peer], slot)
        if peer != self.rank:
            yield send
        else:
            yield self._posted(peer)
            yield send
            yield Wait(peer, (slot, peer))

    def _await(self, wanted: set[int]) -> Iterator[Event]:
        """The waits before an iteration that uses blocks."""
        if not wanted:
            return
        ranks = self.sizes.ranks
        if self.left_in:
            self.window = min(2 * self.window, ranks) if self.sizes.grows else self.window
            for turn in range(1, ranks + 1):
                peer = (self.rank - turn) % ranks
                if peer in wanted:
                    yield from self._receive(peer)
            yield from self._post()
        yield Wait(min(wanted), tuple(sorted(wanted)))
        self.under_way -= wanted
        if self.left_in:
            yield from self._post()


def _order(places: range, first: int, direction: int, turned: bool) -> Iterable[int]:
    """The iterations of a loop; where it is ``turned``, each rank begins with another one."""
    if not turned or not places:
        return places
    number = len(places)
    return [places[(first - places.start + direction * n) % number] for n in range(number)]


@record
class Spread:
    """A broadcast in pieces: ``plane``, ``piece``: elements; ``line``: each rank sends to the next
    one, instead of down a binomial tree; ``fills``, ``uses``: whether there are such loops."""

    ranks: int
    root: int
    planes: int
    plane: int
    piece: int
    line: bool
    fills: bool
    uses: bool

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.planes * self.plane

    @property
    def pieces(self) -> int:
        """The number of pieces; the last one may be shorter."""
        return -(-self.elements // self.piece)

    def parent(self, rank: int) -> int | None:
        """The rank from which a rank receives the pieces."""
        place = (rank - self.root) % self.ranks
        if place == 0:
            return None
        return (rank - 1 if self.line else self.root + (place & (place - 1))) % self.ranks

    def children(self, rank: int) -> tuple[int, ...]:
        """The ranks to which it sends them, the largest subtree first."""
        found = [r for r in range(self.ranks) if self.parent(r) == rank]
        return tuple(sorted(found, key=lambda r: -((r - rank) % self.ranks)))


def spread_schedule(rank: int, sizes: Spread) -> RankProgram:
    """The events of one rank, in program order."""
    return tuple(_Place(rank, sizes).events())


class _Place:
    """One rank of a broadcast: the pieces that are complete, and posted."""

    POSTED = 2

    def __init__(self, rank: int, sizes: Spread) -> None:
        self.sizes = sizes
        self.parent = sizes.parent(rank)
        self.children = sizes.children(rank)
        self.complete = 0
        self.posted = 0

    def events(self) -> Iterator[Event]:
        sizes = self.sizes
        for plane in range(sizes.planes if sizes.fills else 0):
            yield Compute(plane, range(plane, plane + 1))
            yield from self._fill((plane + 1) * sizes.plane)
        yield from self._fill(sizes.elements)
        yield from self._post()
        behind = sizes.planes if sizes.fills else 0
        for plane in range(sizes.planes if sizes.uses else 0):
            yield from self._pass_on_until((plane + 1) * sizes.plane)
            yield Compute(plane, range(behind + plane, behind + plane + 1))
        yield from self._pass_on_until(sizes.elements)
        out = sizes.pieces * len(self.children)
        yield Wait(sizes.pieces, tuple(range(sizes.pieces, sizes.pieces + out)))

    def _part(self, piece: int) -> tuple[int, int]:
        first = piece * self.sizes.piece
        return first, min(self.sizes.piece, self.sizes.elements - first)

    def _fill(self, elements: int) -> Iterator[Event]:
        """The root sends the pieces that it has filled."""
        while self.parent is None and self.complete < self.sizes.pieces:
            if elements < min(self.sizes.elements, (self.complete + 1) * self.sizes.piece):
                return
            yield from self._pass_on()

    def _post(self) -> Iterator[Event]:
        if self.parent is None:
            return
        for piece in range(self.posted, min(self.complete + self.POSTED, self.sizes.pieces)):
            self.posted = piece + 1
            yield Post(piece, self.parent, *self._part(piece), slot=piece)

    def _pass_on_until(self, elements: int) -> Iterator[Event]:
        while self.complete < self.sizes.pieces and self._part(self.complete)[0] < elements:
            yield Wait(self.complete, (self.complete,))
            yield from self._pass_on()
            yield from self._post()

    def _pass_on(self) -> Iterator[Event]:
        piece, many = self.complete, len(self.children)
        self.complete += 1
        for number, child in enumerate(self.children):
            slot = self.sizes.pieces + piece * many + number
            yield Send(piece, child, *self._part(piece), slot)
