"""The messages of tiles that are strided runs of each block: derived datatypes."""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.plan import TAG, Plan
from asphalt.ir.expr import Component, Expr, Keyword, Ref
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.prepush.every_block import EveryBlock
from asphalt.transforms.prepush.pieces import AHEAD, ERROR, HI, LO, PEER, TILE, TILES, K
from asphalt.transforms.rewriting.make import (
    Maker,
    array,
    compare,
    fn,
    mul,
    num,
    simplified,
    sub,
    var,
)

TYPE, WHOLE, REST = (var(f"asphalt_{n}") for n in ("type", "whole", "rest"))
SENT_WHOLE, SENT_REST = (var(f"asphalt_{n}") for n in ("sent_whole", "sent_rest"))


class Strided(EveryBlock):
    """Each tile is the same set of equally strided runs of every rank's block: one message of a
    derived data type to each rank.

    There is a data type for a tile of K planes and one for the last tile, which may have fewer; two
    more where the elements lie otherwise in the array that is sent from.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        assert plan.layout.strides is not None
        self.strides = plan.layout.strides

    def elements(self, planes: Expr) -> Expr:
        return mul(self.size(self.layout.unit), planes)

    def _extents(self) -> Expr:
        return array(*(self.size(extent) for extent in self.strides.extents))

    def _along(self) -> Expr:
        return num(self.strides.along + 1)

    def agreed(self) -> list[Keyword]:
        return [
            Keyword("extents", "extents", self._extents()),
            Keyword("along", "along", self._along()),
            *self._apart(),
        ]

    def _apart(self) -> tuple[Keyword, ...]:
        """The strides of the array that is sent, if they are not those of the block."""
        if self.strides.source is None:
            return ()
        apart = array(*(self.size(distance) for distance in self.strides.source))
        return (Keyword("strides", "strides", apart),)

    def extra_guards(self) -> list[Expr]:
        """The source of a packing copy has a block for each rank, and its strides are integers."""
        guards = super().extra_guards()
        if self.strides.ranks is not None:
            ranks = fn("asphalt_ranks", self.handle("comm"))
            guards.append(compare(ranks, "<=", self.size(self.strides.ranks)))
        for distance in self.strides.source or ():
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

    def inside(self) -> Poly:
        send = self.layout.send
        if send.tile_factor.value != -1:
            return super().inside()
        highest = HI if self.plan.producer.direction > 0 else LO
        return send.fixed[send.tile_dimension] - Poly.atom(highest) - self.layout.offset

    def decided(self, make: Maker) -> list[Node]:
        rest = sub(self.trips(), mul(sub(TILES, num(1)), K))
        comment = "a tile is several runs of a block; the last tile may have fewer planes"
        made = [
            self._type(make, K, WHOLE, (), comment),
            self._type(make, simplified(rest), REST, ()),
        ]
        if self.strides.source is not None:
            made += [
                self._type(make, K, SENT_WHOLE, self._apart()),
                self._type(make, simplified(rest), SENT_REST, self._apart()),
            ]
        return [*super().decided(make), *made]

    def _type(
        self, make: Maker, planes: Expr, new: Expr, apart: tuple[Keyword, ...], *comments: str
    ) -> Leaf:
        """Create the datatype of a tile with a number of planes."""
        arguments = (self.datatype(), self._extents(), self._along(), planes, new, ERROR, *apart)
        return make.call("asphalt_strided", *arguments, comments=comments)

    def _choice(self, make: Maker, tile: Expr, whole: Expr, rest: Expr) -> Leaf:
        """Set ``asphalt_type`` to the datatype of a tile."""
        last = compare(tile, "==", sub(TILES, num(1)))
        return make.assign(TYPE, fn("merge", rest, whole, last))

    def receive_ahead(self, make: Maker) -> list[Node]:
        return [self._choice(make, AHEAD, WHOLE, REST), *super().receive_ahead(make)]

    def send(self, make: Maker) -> list[Node]:
        types = (WHOLE, REST) if self.strides.source is None else (SENT_WHOLE, SENT_REST)
        *waits, sends = super().send(make)
        return [*waits, self._choice(make, TILE, *types), sends]

    def message(
        self, make: Maker, procedure: str, element: Ref | Component, planes: Expr, request: Expr
    ) -> Leaf:
        return make.call(
            procedure,
            element,
            num(1),
            TYPE,
            PEER,
            num(TAG),
            var("asphalt_comm"),
            fn("asphalt_req", request),
            ERROR,
        )

    def release(self, make: Maker) -> list[Node]:
        sent = () if self.strides.source is None else (SENT_WHOLE, SENT_REST)
        return [make.call("asphalt_free", new, ERROR) for new in (WHOLE, REST, *sent)]
