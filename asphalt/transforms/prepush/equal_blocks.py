"""The common part of the patterns with equal blocks (MPI_ALLTOALL).

The schedule is that of ``schedule.exchange``: receives are posted up to D tiles ahead, and a tile
uses the slots of the tile D before it, whose wait follows the computation of the tile.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Address
from asphalt.analysis.tiling.plan import TAG
from asphalt.ir.expr import Component, Expr, Keyword, Lit, Ref
from asphalt.ir.stmt import Assign, DoHead, Guarded
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush import landing
from asphalt.transforms.prepush.pieces import (
    AHEAD,
    BLOCK,
    ERROR,
    FIRST,
    LO,
    ME,
    NP,
    PEER,
    POSTED,
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
    fn,
    mul,
    num,
    quotient,
    simplified,
    size,
    sub,
    var,
)


class EqualBlocks(Pieces):
    """A tile of K iterations adds equally much to each message."""

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def stream(self) -> Expr:
        """The number of iterations of one stream of messages."""

    @abstractmethod
    def block(self) -> Expr:
        """The number of planes in the block of one rank."""

    @abstractmethod
    def messages_a_tile(self) -> Expr:
        """The number of messages that a rank sends (and receives) in one tile."""

    @abstractmethod
    def receive_ahead(self, make: Maker) -> list[Node]:
        """Post the receives of tile ``asphalt_ahead``."""

    def agreed(self) -> list[Keyword]:
        """Further sizes that must be equal on all ranks, as arguments of ``asphalt_enter``."""
        return []

    # -- what is shared ----------------------------------------------------------------------

    def counted(self, make: Maker) -> tuple[Node, ...]:
        counter = self.plan.producer.counter
        if counter is None or counter.variable is None:
            return ()
        head = counter.blocks.head.what
        assert isinstance(head, DoHead)
        assert head.var is not None
        variable, unit, rank = (
            self.written(e)
            for e in (counter.variable, counter.unit, simplified(sub(head.var, counter.first)))
        )
        before = sub(LO, FIRST)
        if not counter.set_inside:
            before = add(mul(rank, self.trips()), before)
        total = mul(unit, before)
        if counter.set_inside:
            total = add(variable, total)
        elif counter.begins.value != 0:
            total = add(self.size(counter.begins), total)
        return (make.leaf(Guarded(TILED, Assign(variable, total))),)

    def enter(self, make: Maker, site: str) -> Leaf:
        send = self.buffer(self.layout.send)
        slab = Keyword("slab", "slab", Lit("logical", ".true."))
        blocks = self.messages_a_tile() != num(1)
        return make.call(
            "asphalt_enter",
            self.handle("comm"),
            self.datatype(),
            quotient(fn("storage_size", send), num(8)),
            self.elements(num(1)),
            self.stream(),
            num(self.plan.grain),
            var(f"asphalt_k_{site}"),
            var(f"asphalt_d_{site}"),
            self.legal(),
            Lit("logical", ".true." if self.plan.certain else ".false."),
            var("asphalt_comm"),
            ME,
            NP,
            K,
            D,
            ERROR,
            *(() if blocks else (slab,)),
            *self.agreed(),
            Keyword("count", "count", self.size(self.layout.count)),
            self.name(site),
            *self.alone(),
        )

    def requests(self) -> Expr:
        """The ring: D slots of sends, 2 D of receives."""
        return mul(mul(num(3), self.messages_a_tile()), D)

    def posted_before(self, make: Maker) -> list[Node]:
        return [make.assign(POSTED, num(0))]

    def posted_in_tile(self, make: Maker) -> list[Node]:
        last = sub(fn("min", add(TILE, D), TILES), num(1))
        post = make.do(
            "asphalt_ahead",
            POSTED,
            last,
            tuple(self.receive_ahead(make.inner())),
            "receives stand ready D tiles ahead"
            + ("" if self.plan.clone else ", where the call would have put the data"),
        )
        return [post, make.assign(POSTED, AHEAD)]

    def element(self, address: Address, inside: Poly, rank: Poly) -> Ref | Component:
        """The first element of a piece: ``inside`` steps into the block of ``rank``."""
        block = address.block_factor
        if self.layout.pattern is TileShape.SLAB and block == self.layout.block:
            block = Poly.atom(BLOCK)
        subscripts = list(address.fixed)
        subscripts[address.tile_dimension] += inside * address.tile_factor
        subscripts[address.block_dimension] += rank * block
        subscripts += address.tail
        return replace(self.buffer(address), args=tuple(size(s, self.scope) for s in subscripts))

    def landing(self, inside: Poly, rank: Expr) -> Ref | Component:
        """Where the piece lands that begins ``inside`` planes into the block of ``rank``."""
        if self.plan.clone is None:
            return self.element(self.layout.receive, inside, Poly.atom(rank))
        return landing.element(self.elements(size(inside, self.scope)), rank)

    def clone(self, make: Maker) -> list[Node]:
        why = self.plan.clone
        if why is None:
            return []
        block = self.elements(self.block())
        return [landing.allocate(make, self.buffer(self.layout.receive), block, NP, why)]

    def elements(self, planes: Expr) -> Expr:
        """The number of elements in a number of planes."""
        return mul(self.layout.plane, planes)

    def message(
        self,
        make: Maker,
        procedure: str,
        element: Ref | Component,
        planes: Expr,
        request: Expr,
    ) -> Leaf:
        """Start one message to or from ``asphalt_peer``."""
        return make.call(
            procedure,
            element,
            self.elements(planes),
            self.datatype(),
            PEER,
            num(TAG),
            var("asphalt_comm"),
            fn("asphalt_req", request),
            ERROR,
        )
