"""The messages of blocks that differ in length (MPI_ALLTOALLV).

Both sender and receiver know the number of elements of a block.  Both cut it into pieces of as many
elements as the sender computes in K iterations: ``asphalt_piece`` on the sender, which it sends to
all others (``schedule.uneven``).  If the header sets K, the others receive this number during their
first tile, which hides the transfer, or wait for it behind that tile; if the run chooses K, at the
entry.  Then they post all receives at once: a rank with a shorter first tile may send to one that
still computes its own.  The requests of the receives follow the ring of D tiles of sends.
"""

from __future__ import annotations

from abc import abstractmethod

from asphalt.analysis.exchange.per_rank import PerRank, Uneven
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.layout import Address
from asphalt.analysis.tiling.plan import TAG, Plan
from asphalt.ir.expr import Component, Expr, Lit, Ref
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.pieces import (
    ERROR,
    FIRST,
    FIRST_TILE,
    HI,
    LAST,
    LO,
    ME,
    NP,
    PEER,
    REQUESTS,
    SLOT,
    TILE,
    TILED,
    TILES,
    D,
    K,
    Pieces,
)
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    both,
    compare,
    fn,
    mul,
    num,
    quotient,
    respelled,
    simplified,
    sub,
    var,
)

PIECE, PIECES, UNIT = (var(f"asphalt_{n}") for n in ("piece", "pieces", "unit"))
FROM, COUNT, INDEX = (var(f"asphalt_{n}") for n in ("from", "count", "i"))
COMM = var("asphalt_comm")
ANSWERS = var("asphalt_answer")
BEGIN, END = var("asphalt_begin"), var("asphalt_end")


class UnevenPieces(Pieces):
    """The common part of both patterns of uneven blocks."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        assert self.layout.uneven is not None
        self.uneven: Uneven = self.layout.uneven

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def sends_a_tile(self) -> Expr:
        """The slots of a tile in the ring of sends."""

    @abstractmethod
    def tiles(self) -> Expr:
        """The number of tiles that have something to send."""

    # -- what is shared ----------------------------------------------------------------------

    def of_peer(self, numbers: PerRank) -> Expr:
        """The number that belongs to ``asphalt_peer``."""
        named = respelled(numbers.of(PEER), self.scope)
        assert isinstance(named, Ref | Component)
        return named

    def whole_list(self, numbers: PerRank) -> Expr:
        """All numbers, as the call of the program passes them."""
        named = respelled(numbers.actual, self.scope)
        assert isinstance(named, Ref | Component)
        return named

    def prepare(self, make: Maker) -> list[Node]:
        return [make.assign(UNIT, self.size(self.layout.unit))]

    def enter(self, make: Maker, site: str) -> Leaf:
        slab = self.layout.pattern is TileShape.SLAB
        blocks = self.uneven
        return make.call(
            "asphalt_enter_uneven",
            self.handle("comm"),
            self.datatype(),
            quotient(fn("storage_size", self.buffer(self.layout.send)), num(8)),
            UNIT,
            self.trips(),
            num(self.plan.grain),
            var(f"asphalt_k_{site}"),
            var(f"asphalt_d_{site}"),
            self.legal(),
            *(
                self.whole_list(numbers)
                for numbers in (
                    blocks.send_counts,
                    blocks.send_displacements,
                    blocks.receive_counts,
                )
            ),
            Lit("logical", ".true." if slab else ".false."),
            num(0) if blocks.spread is None else self.size(blocks.spread),
            COMM,
            ME,
            NP,
            K,
            PIECE,
            ANSWERS,
            D,
            ERROR,
            self.name(site),
            *self.alone(),
        )

    def decided(self, make: Maker) -> list[Node]:
        return [make.assign(PIECES, self.tiles())]

    def whole(self, make: Maker) -> list[Node]:
        return [make.assign(PIECES, num(0))]

    def requests(self) -> Expr:
        return mul(self.sends_a_tile(), D)

    def all_requests(self) -> Expr:
        return fn("size", REQUESTS)

    def posted_before(self, make: Maker) -> list[Node]:
        return [
            make.assign(TILES, fn("max", num(1), PIECES)),
            make.assign(END, fn("max", FIRST, add(LAST, num(1)))),
            *self.before_first_tile(make),
        ]

    def heard(self, make: Maker, when: Expr) -> list[Node]:
        comment = "receives are posted once all ranks have told how they cut what they send"
        return [make.branch(when, (self._hear(make.inner(), ".false."),), (), comment)]

    def computed(self, make: Maker) -> list[Node]:
        return [make.branch(FIRST_TILE, (self._hear(make.inner(), ".true."),))]

    def _hear(self, make: Maker, now: str) -> Leaf:
        """Post all receives if the piece sizes of all ranks are known; wait for them if ``now``."""
        return make.call(
            "asphalt_hear",
            ANSWERS,
            Lit("logical", now),
            self.buffer(self.layout.receive),
            self.whole_list(self.uneven.receive_counts),
            self.whole_list(self.uneven.receive_displacements),
            REQUESTS,
            TILED,
            ERROR,
        )

    def before_first_tile(self, make: Maker) -> list[Node]:
        """Statements in front of the loop over the tiles."""
        return []

    def posted_in_tile(self, make: Maker) -> list[Node]:
        return []

    def piece(self, make: Maker, procedure: str, buffer: Address, block: Expr, slot: Expr) -> Leaf:
        """Start a message of ``asphalt_count`` elements, ``asphalt_from`` elements into a block."""
        return make.call(
            procedure,
            self.buffer(buffer),
            add(block, FROM),
            COUNT,
            self.datatype(),
            PEER,
            self.tag(),
            COMM,
            fn("asphalt_req", slot),
            ERROR,
        )

    def tag(self) -> Expr:
        """The tag of the messages."""
        return num(TAG)

    def send_piece(self, make: Maker, slot: Expr) -> Leaf:
        """Send the piece to ``asphalt_peer``."""
        block = self.of_peer(self.uneven.send_displacements)
        return self.piece(make, "asphalt_isend_at", self.layout.send, block, slot)

    def iterations_for(self, elements: Expr) -> Expr:
        """The number of iterations that write a number of elements."""
        return fn("asphalt_iterations", elements, UNIT)


class UnevenSlab(UnevenPieces):
    """Each tile is the next piece of a block, and what computes it; the blocks in rotated order.

    A rank without anything to send has one tile with everything.
    """

    def sends_a_tile(self) -> Expr:
        return num(1)

    def tiles(self) -> Expr:
        return fn("asphalt_pieces_of", self.whole_list(self.uneven.send_counts), NP, PIECE)

    def before_first_tile(self, make: Maker) -> list[Node]:
        inner = make.inner()
        comment = "rank r begins with the block of rank r+1, so that not all send to one rank"
        then = (
            inner.assign(PEER, ME),
            inner.assign(FROM, num(0)),
            inner.assign(COUNT, self.of_peer(self.uneven.send_counts)),
        )
        return [make.branch(self._in_pieces(), then, (), comment)]

    def _in_pieces(self) -> Expr:
        """Whether this rank computes its pieces in their order, whether or not it sends them."""
        return compare(PIECES, ">", num(0))

    def sends(self) -> Expr:
        return both(TILED, self._in_pieces())

    def reordered(self) -> Expr:
        return self._in_pieces()

    def this_tile(self, make: Maker) -> list[Node]:
        inner = make.inner()
        counts = self.whole_list(self.uneven.send_counts)
        sending = (
            inner.call("asphalt_next_piece", counts, NP, PIECE, PEER, FROM, COUNT),
            inner.assign(BEGIN, add(self.of_peer(self.uneven.send_displacements), FROM)),
            inner.assign(LO, add(FIRST, self.iterations_for(BEGIN))),
            inner.assign(HI, sub(add(FIRST, self.iterations_for(add(BEGIN, COUNT))), num(1))),
        )
        whole = (inner.assign(LO, FIRST), inner.assign(HI, LAST))
        return [make.branch(self._in_pieces(), sending, whole)]

    def send(self, make: Maker) -> list[Node]:
        return [
            make.assign(SLOT, add(fn("mod", TILE, D), num(1))),
            self.wait(make, SLOT, num(1)),
            self.send_piece(make, SLOT),
        ]

    def afterwards(self, make: Maker) -> list[Node]:
        """The loop variables as the original order leaves them."""
        restored: dict[str, Node] = {}
        for phase in self.plan.producer.phases:
            head = phase.tiled.head.what
            assert isinstance(head, DoHead)
            assert isinstance(head.var, Ref)
            restored[head.var.name] = make.assign(head.var, END)
        return list(restored.values())


class UnevenBlocks(UnevenPieces):
    """Each tile is a piece of every block that is long enough; the last one computes the rest."""

    def sends_a_tile(self) -> Expr:
        return NP

    def tiles(self) -> Expr:
        return fn("asphalt_most_pieces", self.whole_list(self.uneven.send_counts), NP, PIECE)

    def this_tile(self, make: Maker) -> list[Node]:
        inner = make.inner()
        low = add(FIRST, self.iterations_for(FROM))
        high = add(FIRST, self.iterations_for(add(FROM, PIECE)))
        last = compare(TILE, "==", sub(TILES, num(1)))
        return [
            make.assign(FROM, mul(TILE, PIECE)),
            make.assign(LO, fn("min", low, END)),
            make.assign(HI, sub(fn("min", high, END), num(1))),
            make.branch(last, (inner.assign(HI, LAST),)),
        ]

    def send(self, make: Maker) -> list[Node]:
        inner = make.inner()
        deeper = inner.inner()
        left = sub(self.of_peer(self.uneven.send_counts), FROM)
        return [
            make.assign(SLOT, mul(NP, fn("mod", TILE, D))),
            self.wait(make, add(SLOT, num(1)), NP),
            make.do(
                "asphalt_i",
                num(1),
                NP,
                (
                    inner.assign(PEER, fn("modulo", add(ME, INDEX), NP)),
                    inner.assign(COUNT, fn("min", PIECE, left)),
                    inner.branch(
                        compare(COUNT, ">", num(0)),
                        (self.send_piece(deeper, simplified(add(SLOT, INDEX))),),
                    ),
                ),
            ),
        ]

    def afterwards(self, make: Maker) -> list[Node]:
        return []
