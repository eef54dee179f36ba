"""The beginning of an exchange of equal blocks (MPI_ALLTOALL).

The schedule is that of ``schedule.exchange``; ``fortran_runtime/asphalt_exchange.f90`` executes it.
"""

from __future__ import annotations

from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Lit, Ref
from asphalt.ir.stmt import Assign, DoHead, Guarded
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.beginning import LO, TRUE, Beginning, keywords
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    array,
    compare,
    fn,
    mul,
    num,
    simplified,
    sub,
    var,
)


class EqualBlocks(Beginning):
    """A tile of K iterations adds equally much to each message."""

    variable = var("asphalt_x")

    def begin(self, make: Maker, site: str) -> Leaf:
        layout, producer = self.layout, self.plan.producer
        step = None if producer.direction > 0 else num(-1)
        slab = TRUE if layout.pattern is TileShape.SLAB else None
        return make.call(
            "asphalt_begin",
            self.variable,
            self.handle("comm"),
            self._sent(),
            self.buffer(layout.receive),
            self.integer(self.size(layout.count)),
            *self.elements(),
            *keywords((("unit", self.integer(layout.plane)),)),
            *self.loop(site),
            *keywords((("step", step), ("slab", slab), ("backwards", self._backwards()))),
            *keywords(self._window()),
            *keywords(self._strides()),
            *self.guards(),
            *keywords((("clone", TRUE if self.plan.clone else None),)),
            *((keywords((("uniform", TRUE),))) if self.plan.certain else (self.name(site),)),
        )

    @property
    def reordered(self) -> bool:
        return self.layout.pattern is TileShape.SLAB

    def _sent(self) -> Ref | Component:
        """What is sent: the send buffer, or what is packed into it."""
        send = self.layout.send
        return self.buffer(send) if self.plan.producer.copy is None else self.array(send)

    def _offset(self) -> Poly:
        """The elements of what is packed in front of the first one that is sent."""
        copy, total = self.plan.producer.copy, Poly()
        if copy is not None:
            shape = copy.source_shape
            for number, (first, lower) in enumerate(
                zip(self.layout.send.fixed, shape.lower, strict=True)
            ):
                if first != lower:
                    total += (first - lower) * shape.stride(number)
        return total

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
        if self.reordered:
            return [("before", self.integer(self.size(window.before)))]
        return [("ready", self.integer(self.size(window.ready)))]

    def _strides(self) -> list[tuple[str, Expr | None]]:
        """The dimensions of a block, if a tile is not one run of it."""
        strides = self.layout.strides
        if strides is None:
            return []
        extents = array(*(self.integer(self.size(extent)) for extent in strides.extents))
        found: list[tuple[str, Expr | None]] = [
            ("extents", extents),
            ("along", num(strides.along + 1)),
        ]
        if strides.source is not None:
            apart = array(*(self.integer(self.size(distance)) for distance in strides.source))
            found.append(("strides", apart))
            offset = self._offset()
            found.append(("offset", None if offset.value == 0 else self.integer(self.size(offset))))
        return found

    def extra_guards(self) -> list[Expr]:
        """The source of a packing copy has a block for each rank, and its strides are integers."""
        guards: list[Expr] = []
        strides = self.layout.strides
        if strides is None:
            return guards
        if strides.ranks is not None:
            guards.append(compare(self.ranks(), "<=", self.size(strides.ranks)))
        for distance in (*(strides.source or ()), self._offset()):
            for monomial, coefficient in sorted(distance.terms, key=repr):
                if len(monomial) > 1:
                    guards.append(self._is_integer(Poly.of({monomial: abs(coefficient)})))
        return list(dict.fromkeys(guards))

    def _is_integer(self, product: Poly) -> Expr:
        """The guard that a product of two or more factors does not overflow."""
        ((monomial, coefficient),) = product.terms
        first, *others = (self.size(Poly.atom(atom)) for atom in monomial)
        total = mul(num(coefficient), fn("real", first))
        for other in others:
            total = mul(total, other)
        largest = fn("ishft", fn("huge", num(0)), num(-1))  # with room for rounding
        return compare(total, "<", fn("real", largest))

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
        before = self.written(simplified(sub(LO, self.plan.producer.first)))
        if not counter.set_inside:
            before = add(mul(rank, self.trips()), before)
        total = mul(unit, before)
        if counter.set_inside:
            total = add(variable, total)
        elif counter.begins.value != 0:
            total = add(self.size(counter.begins), total)
        return (make.leaf(Guarded(self.tiled, Assign(variable, total))),)
