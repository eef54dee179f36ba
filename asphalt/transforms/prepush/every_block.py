"""The messages of the every-block pattern: a tile is the same run of each block."""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr
from asphalt.ir.tree import Node
from asphalt.transforms.prepush.equal_blocks import EqualBlocks
from asphalt.transforms.prepush.pieces import (
    AHEAD,
    FIRST,
    HI,
    LAST,
    LO,
    ME,
    NP,
    PEER,
    SLOT,
    TILE,
    TILES,
    D,
    K,
    some_tiles,
)
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    fn,
    mul,
    num,
    quotient,
    simplified,
    sub,
    var,
)


class EveryBlock(EqualBlocks):
    """Each tile is the same run of every rank's block: one message to each rank."""

    def prepare(self, make: Maker) -> list[Node]:
        return []

    def stream(self) -> Expr:
        return self.trips()

    def decided(self, make: Maker) -> list[Node]:
        return [make.assign(TILES, some_tiles(self.tiles()))]

    def tiles(self) -> Expr:
        """The number of tiles."""
        return quotient(simplified(sub(add(self.trips(), K), num(1))), K)

    def block(self) -> Expr:
        return self.size(self.layout.block)

    def messages_a_tile(self) -> Expr:
        return NP

    def this_tile(self, make: Maker) -> list[Node]:
        return self.share(make, TILE)

    def share(self, make: Maker, tile: Expr) -> list[Node]:
        """Set the variables of ``inside`` and ``planes`` for a tile."""
        steps = mul(tile, K)
        if self.plan.producer.direction > 0:
            end = fn("min", sub(add(LO, K), num(1)), LAST)
            return [make.assign(LO, add(FIRST, steps)), make.assign(HI, end)]
        end = fn("max", add(sub(LO, K), num(1)), LAST)
        return [make.assign(LO, sub(FIRST, steps)), make.assign(HI, end)]

    def share_again(self, make: Maker) -> list[Node]:
        """Set them again for this tile, behind its iterations; none if they are unchanged."""
        return []

    def messages(self) -> Expr:
        """The number of messages that a rank sends in the tile of ``share``."""
        return NP

    def planes(self) -> Expr:
        """The number of planes of a block that a tile sends."""
        low, high = (LO, HI) if self.plan.producer.direction > 0 else (HI, LO)
        return add(sub(high, low), num(1))

    def inside(self) -> Poly:
        """The number of planes of a block in front of those that a tile sends."""
        send = self.layout.send
        lowest = LO if self.plan.producer.direction > 0 else HI
        return Poly.atom(lowest) + self.layout.offset - send.fixed[send.tile_dimension]

    def receive_ahead(self, make: Maker) -> list[Node]:
        inner = make.inner()
        ring = add(D, fn("mod", AHEAD, mul(num(2), D)))
        index = var("asphalt_i")
        source = self.landing(self.inside(), PEER)
        planes = self.planes()
        return [
            *self.share(make, AHEAD),
            make.assign(SLOT, mul(NP, ring)),
            make.do(
                "asphalt_i",
                num(1),
                self.messages(),
                (
                    inner.assign(PEER, fn("modulo", sub(ME, index), NP)),
                    self.message(inner, "asphalt_irecv", source, planes, add(SLOT, index)),
                ),
            ),
        ]

    def send(self, make: Maker) -> list[Node]:
        inner = make.inner()
        ring = add(D, fn("mod", add(TILE, D), mul(num(2), D)))
        index = var("asphalt_i")
        piece = self.element(self.layout.send, self.inside(), Poly.atom(PEER))
        planes = self.planes()
        return [
            make.assign(SLOT, mul(NP, ring), "tile - D must be through before its slots are used"),
            self.wait(make, add(SLOT, num(1)), NP),
            make.assign(SLOT, mul(NP, fn("mod", TILE, D))),
            self.wait(make, add(SLOT, num(1)), NP),
            *self.share_again(make),
            make.do(
                "asphalt_i",
                num(1),
                self.messages(),
                (
                    inner.assign(PEER, fn("modulo", add(ME, index), NP)),
                    self.message(inner, "asphalt_isend", piece, planes, add(SLOT, index)),
                ),
            ),
        ]

    def afterwards(self, make: Maker) -> list[Node]:
        return []
