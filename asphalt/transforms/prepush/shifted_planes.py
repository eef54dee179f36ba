"""The messages of a tile whose planes are not those of its iterations.

Late finality, planes that are final before the nest, and iterations that have no plane: which
planes a tile sends follows from how many are final when it has been computed
(``schedule.exchange.window``, which the run-time library has as ``asphalt_window``).
"""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.tiling.tile_window import PlaneWindow
from asphalt.ir.expr import Component, Expr, Keyword, Ref
from asphalt.ir.tree import Node
from asphalt.transforms.prepush.every_block import EveryBlock
from asphalt.transforms.prepush.pieces import (
    BLOCK,
    FIRST,
    FROM,
    HI,
    LAST,
    LO,
    NP,
    PEER,
    PLANES,
    TILE,
    TILES,
    K,
    some_tiles,
)
from asphalt.transforms.prepush.slab import Slab
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    compare,
    fn,
    mul,
    num,
    simplified,
    sub,
    var,
)

READY = var("asphalt_ready")


def _window(layout: Layout) -> PlaneWindow:
    assert layout.window is not None
    return layout.window


class EveryBlockWindow(EveryBlock):
    """Each tile sends what its iterations make final; a prologue sends what was final before."""

    def prepare(self, make: Maker) -> list[Node]:
        ready = _window(self.layout).ready
        comment = "planes of a block that are final before the nest"
        known = [] if ready.value is not None else [make.assign(READY, self.size(ready), comment)]
        return [*super().prepare(make), *known]

    def agreed(self) -> list[Keyword]:
        known = _window(self.layout).ready.value is not None
        return [] if known or self.plan.certain else [Keyword("ready", "ready", READY)]

    def tiles(self) -> Expr:
        tiles = super().tiles()
        return add(tiles, num(1)) if _window(self.layout).prologue else tiles

    def decided(self, make: Maker) -> list[Node]:
        if not _window(self.layout).prologue:
            return super().decided(make)
        comment = "the first tile has no iterations: it sends what is final before the nest"
        return [make.assign(TILES, some_tiles(self.tiles()), comment)]

    def whole(self, make: Maker) -> list[Node]:
        if not _window(self.layout).prologue:
            return super().whole(make)
        return [*super().whole(make)[:-1], make.assign(TILES, num(2))]

    def this_tile(self, make: Maker) -> list[Node]:
        if not _window(self.layout).prologue:
            return super().share(make, TILE)
        before = mul(fn("max", num(0), sub(TILE, num(1))), K)
        upto = mul(TILE, K)
        if self.plan.producer.direction > 0:
            end = fn("min", sub(add(FIRST, upto), num(1)), LAST)
            return [make.assign(LO, add(FIRST, before)), make.assign(HI, end)]
        end = fn("max", add(sub(FIRST, upto), num(1)), LAST)
        return [make.assign(LO, sub(FIRST, before)), make.assign(HI, end)]

    def share(self, make: Maker, tile: Expr) -> list[Node]:
        window = _window(self.layout)
        known = window.ready.value
        ready = READY if known is None else num(known)
        if window.prologue:
            ready = simplified(sub(ready, K))
        return [make.call("asphalt_window", tile, TILES, K, ready, self.block(), FROM, PLANES)]

    def share_again(self, make: Maker) -> list[Node]:
        return self.share(make, TILE)

    def messages(self) -> Expr:
        return fn("merge", NP, num(0), compare(PLANES, ">", num(0)))

    def planes(self) -> Expr:
        return PLANES

    def inside(self) -> Poly:
        if self.plan.producer.direction > 0:
            return Poly.atom(FROM)
        return self.layout.block - Poly.atom(FROM) - Poly.atom(PLANES)


class SlabWindow(Slab):
    """Each tile sends its planes; those that the loop does not visit are final before the nest."""

    def _before(self) -> Expr:
        return self.size(_window(self.layout).before)

    def stretch(self, make: Maker) -> list[Node]:
        before = Poly.atom(FIRST) - _window(self.layout).before
        begin = add(add(self.size(before), mul(PEER, BLOCK)), FROM)
        return [
            make.assign(LO, begin, "of the planes of this tile, those that the loop reaches"),
            make.assign(HI, fn("min", sub(add(LO, PLANES), num(1)), LAST)),
            make.assign(LO, fn("max", LO, FIRST)),
        ]

    def share_again(self, make: Maker) -> list[Node]:
        return self.within(make, TILE)

    def sent(self) -> tuple[Ref | Component, Expr]:
        return self.element(self.layout.send, Poly.atom(FROM), Poly.atom(PEER)), PLANES

    def extra_guards(self) -> list[Expr]:
        before = _window(self.layout).before
        reached = compare(add(self._before(), self.trips()), "<=", mul(NP, BLOCK))
        if before.value is not None and before.value >= 0:
            return [reached]
        return [compare(self._before(), ">=", num(0)), reached]

    def value_afterwards(self) -> Expr:
        return fn("max", FIRST, add(LAST, num(1)))
