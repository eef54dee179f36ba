"""The beginning of an exchange of equal blocks (MPI_ALLTOALL).

The schedule is that of ``schedule.exchange``; ``fortran_runtime/asphalt_exchange.f90`` executes it.
"""

from __future__ import annotations

from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Component, Expr, Lit, Ref
from asphalt.ir.stmt import Assign, DoHead, Guarded
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.beginning import TRUE, Beginning, keywords
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    mul,
    num,
    simplified,
    sub,
    var,
)


class EqualBlocks(Beginning):
    """A tile of K iterations adds equally much to each message."""

    variable = var("asphalt_x")
    beginning = "begin"

    def begin(self, make: Maker, site: str) -> Leaf:
        layout, producer = self.layout, self.plan.producer
        step = None if producer.direction > 0 else num(-1)
        slab = TRUE if layout.pattern is TileShape.SLAB else None
        return self.call(
            make,
            self.beginning,
            self.handle("comm"),
            self.sent(),
            self.buffer(layout.receive),
            self.integer(self.size(layout.count)),
            *self.elements(),
            *keywords((("unit", self.integer(self.written(layout.plane))),)),
            *self.loop(site),
            *keywords((("step", step), ("slab", slab), ("backwards", self._backwards()))),
            *keywords(self._window()),
            *keywords(self.strides()),
            *self.guards(),
            *keywords(
                (
                    ("clone", TRUE if self.plan.clone else None),
                    ("uniform", TRUE if self.plan.certain else None),
                )
            ),
            *(() if self.plan.certain and len(self.backends) == 1 else (self.name(site),)),
            *self.backend(site),
            *self.entered(),
        )

    def sent(self) -> Ref | Component:
        """What is sent."""
        return self.buffer(self.layout.send)

    def _backwards(self) -> Expr | None:
        """Whether the planes come in the order opposite to that of memory, if the direction of the
        loop does not say so."""
        if self.layout.send.tile_factor.value != -1:
            return None
        return Lit("logical", ".false." if self.plan.producer.direction < 0 else ".true.")

    def _window(self) -> list[tuple[str, Expr | None]]:
        """The planes that a tile sends, if they are not those of its iterations."""
        window = self.layout.window
        if window is None:
            return []
        if self.layout.pattern is TileShape.SLAB:
            return [("before", self.integer(self.size(window.before)))]
        return [("ready", self.integer(self.size(window.ready)))]

    def strides(self) -> list[tuple[str, Expr | None]]:
        """The dimensions of a block, if a tile is not one run of it."""
        return []

    def checked(self) -> list[Poly]:
        if self.layout.pattern is TileShape.SLAB or self.layout.window is not None:
            return []
        return [self.layout.count - poly(self.layout.plane) * poly(self.trips())]

    def divided(self) -> tuple[Poly, Poly]:
        return self.layout.count, poly(self.layout.plane)

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
        before = self.written(simplified(sub(self.lo, self.plan.producer.first)))
        if not counter.set_inside:
            before = add(mul(rank, self.trips()), before)
        total = mul(unit, before)
        if counter.set_inside:
            total = add(variable, total)
        elif counter.begins.value != 0:
            total = add(self.size(counter.begins), total)
        return (make.leaf(Guarded(self.tiled, Assign(variable, total))),)
