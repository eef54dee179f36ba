"""The messages of the slab pattern: a tile is a run of the block of one rank."""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Node
from asphalt.transforms.prepush.equal_blocks import EqualBlocks
from asphalt.transforms.prepush.pieces import (
    AHEAD,
    BLOCK,
    EACH,
    FIRST,
    FROM,
    HI,
    LAST,
    LO,
    ME,
    NP,
    PEER,
    PLANES,
    SLOT,
    TILE,
    TILES,
    D,
    K,
    some_tiles,
)
from asphalt.transforms.rewriting.make import Maker, add, compare, fn, mul, num, quotient, sub, var


class Slab(EqualBlocks):
    """Each tile is a run of one rank's block: one message to one rank.

    Every rank's block of ``asphalt_block`` planes is cut into ``asphalt_each`` tiles.  Rank r
    begins with the block of rank r+1 and wraps around.
    """

    def prepare(self, make: Maker) -> list[Node]:
        return [
            make.assign(BLOCK, self.size(self.layout.block)),
            make.assign(NP, fn("asphalt_ranks", self.handle("comm"))),
        ]

    def stream(self) -> Expr:
        return BLOCK

    def decided(self, make: Maker) -> list[Node]:
        return [
            make.assign(EACH, quotient(sub(add(BLOCK, K), num(1)), K)),
            make.assign(TILES, some_tiles(mul(NP, EACH))),
        ]

    def whole(self, make: Maker) -> list[Node]:
        return [*super().whole(make), make.assign(EACH, num(1))]

    def block(self) -> Expr:
        return BLOCK

    def messages_a_tile(self) -> Expr:
        return num(1)

    def within(self, make: Maker, tile: Expr) -> list[Node]:
        """Set the offset of a tile in its block, and its number of planes."""
        return [
            make.assign(FROM, mul(fn("mod", tile, EACH), K)),
            make.assign(PLANES, fn("min", K, sub(BLOCK, FROM))),
        ]

    def this_tile(self, make: Maker) -> list[Node]:
        inner = make.inner()
        target = fn("modulo", add(add(ME, num(1)), quotient(TILE, EACH)), NP)
        comment = "rank r begins with the block of rank r+1, so that not all send to one rank"
        tiled = (
            inner.assign(PEER, target, comment),
            *self.within(inner, TILE),
            *self.stretch(inner),
        )
        whole = (inner.assign(LO, FIRST), inner.assign(HI, LAST))
        return [make.branch(var("asphalt_tiled"), tiled, whole)]

    def stretch(self, make: Maker) -> list[Node]:
        """Set the iterations that complete the planes of this tile."""
        begin = add(add(FIRST, mul(PEER, BLOCK)), FROM)
        return [make.assign(LO, begin), make.assign(HI, sub(add(LO, PLANES), num(1)))]

    def share_again(self, make: Maker) -> list[Node]:
        """Set the variables of ``sent`` again, behind the iterations."""
        return []

    def sent(self) -> tuple[Ref | Component, Expr]:
        """The first element that this tile sends, and its number of planes."""
        send = self.layout.send
        inside = Poly.atom(LO) + self.layout.offset - send.fixed[send.tile_dimension]
        return self.element(send, inside, Poly()), add(sub(HI, LO), num(1))

    def receive_ahead(self, make: Maker) -> list[Node]:
        source = fn("modulo", sub(sub(ME, num(1)), quotient(AHEAD, EACH)), NP)
        ring = add(D, fn("mod", AHEAD, mul(num(2), D)))
        piece = self.landing(Poly.atom(FROM), PEER)
        return [
            make.assign(PEER, source),
            *self.within(make, AHEAD),
            make.assign(SLOT, add(ring, num(1))),
            self.message(make, "asphalt_irecv", piece, PLANES, SLOT),
        ]

    def send(self, make: Maker) -> list[Node]:
        ring = add(D, fn("mod", add(TILE, D), mul(num(2), D)))
        piece, planes = self.sent()
        target = fn("modulo", add(add(ME, num(1)), quotient(TILE, EACH)), NP)
        comment = "tile - D must be through before its slots are used"
        return [
            make.assign(SLOT, add(ring, num(1)), comment),
            self.wait(make, SLOT, num(1)),
            make.assign(SLOT, add(fn("mod", TILE, D), num(1))),
            self.wait(make, SLOT, num(1)),
            make.assign(PEER, target),
            *self.share_again(make),
            self.message(make, "asphalt_isend", piece, planes, SLOT),
        ]

    def extra_guards(self) -> list[Expr]:
        return [compare(self.trips(), "==", mul(NP, BLOCK))]

    def value_afterwards(self) -> Expr:
        """The value of the loop variable behind the loop."""
        return add(LAST, num(1))

    def afterwards(self, make: Maker) -> list[Node]:
        """The loop variables as the original order leaves them."""
        restored: dict[str, Node] = {}
        for phase in self.plan.producer.phases:
            head = phase.tiled.head.what
            assert isinstance(head, DoHead)
            assert isinstance(head.var, Ref)
            restored[head.var.name] = make.assign(head.var, self.value_afterwards())
        return list(restored.values())
