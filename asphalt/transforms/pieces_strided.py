"""The messages of tiles that are strided runs of each block: derived data types."""

from __future__ import annotations

from asphalt.analysis.plan import Plan
from asphalt.ir.expr import Component, Expr, Keyword, Ref
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.make import Maker, array, compare, fn, mul, num, simplified, sub, var
from asphalt.transforms.pieces import AHEAD, ERROR, PEER, TAG, TILE, TILES, K
from asphalt.transforms.pieces_block import EveryBlock

TYPE, WHOLE, REST = (var(f"asphalt_{n}") for n in ("type", "whole", "rest"))


class Strided(EveryBlock):
    """Each tile is the same set of equally strided runs of every rank's block: one message of a
    derived data type to each rank.

    There is a data type for a tile of K planes and one for the last tile, which may have fewer.
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
        ]

    def decided(self, make: Maker) -> list[Node]:
        rest = sub(self.trips(), mul(sub(TILES, num(1)), K))
        comment = "a tile is several runs of a block; the last tile may have fewer planes"
        return [
            *super().decided(make),
            self._type(make, K, WHOLE, comment),
            self._type(make, simplified(rest), REST),
        ]

    def _type(self, make: Maker, planes: Expr, new: Expr, *comments: str) -> Leaf:
        """Make the data type of a tile with so many planes."""
        arguments = (self.datatype(), self._extents(), self._along(), planes, new, ERROR)
        return make.call("asphalt_strided", *arguments, comments=comments)

    def _choice(self, make: Maker, tile: Expr) -> Leaf:
        """Set ``asphalt_type`` to the data type of a tile."""
        last = compare(tile, "==", sub(TILES, num(1)))
        return make.assign(TYPE, fn("merge", REST, WHOLE, last))

    def receive_ahead(self, make: Maker) -> list[Node]:
        return [self._choice(make, AHEAD), *super().receive_ahead(make)]

    def send(self, make: Maker) -> list[Node]:
        return [*super().send(make)[:-1], self._choice(make, TILE), super().send(make)[-1]]

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
        return [make.call("asphalt_free", new, ERROR) for new in (WHOLE, REST)]
