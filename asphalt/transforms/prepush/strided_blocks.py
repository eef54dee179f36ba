"""The beginning of an exchange of equal blocks in tiles that are several runs of each block.

Senders and receivers use derived data types; ``fortran_runtime/asphalt_strided.f90`` makes them.
"""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import Poly, product
from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import Component, Expr, Ref
from asphalt.transforms.prepush.equal_blocks import EqualBlocks
from asphalt.transforms.rewriting.make import array, compare, fn, mul, num, var


class StridedBlocks(EqualBlocks):
    """Each tile is the same set of equally strided runs of every rank's block.

    It is sent from the send buffer, or from the array that a packing copy packs into that.
    """

    variable = var("asphalt_s")
    beginning = "begin_strided"

    def __init__(self, plan: Plan, backends: tuple[str, ...], left_at_end: bool) -> None:
        super().__init__(plan, backends, left_at_end)
        assert plan.layout.strides is not None
        self.blocks = plan.layout.strides

    def sent(self) -> Ref | Component:
        if self.plan.producer.copy is None:
            return super().sent()
        return self.array(self.layout.send)

    def _offset(self) -> Poly:
        """The elements of what is packed in front of the first one that is sent."""
        copy, total = self.plan.producer.copy, Poly()
        if copy is None:
            return total
        shape = copy.source_shape
        starts = zip(self.layout.send.fixed, shape.lower, strict=True)
        for number, (first, lower) in enumerate(starts):
            if first != lower:
                total += (first - lower) * shape.stride(number)
        return total

    def strides(self) -> list[tuple[str, Expr | None]]:
        extents = array(*(self.integer(self.size(extent)) for extent in self.blocks.extents))
        found: list[tuple[str, Expr | None]] = [
            ("extents", extents),
            ("along", num(self.blocks.along + 1)),
        ]
        if self.blocks.source is not None:
            apart = array(*(self.integer(self.size(distance)) for distance in self.blocks.source))
            offset = self._offset()
            begins = None if offset.value == 0 else self.integer(self.size(offset))
            found += [("strides", apart), ("offset", begins)]
        return found

    def checked(self) -> list[Poly]:
        return [*super().checked(), self.layout.count - product(self.blocks.extents)]

    def extra_guards(self) -> list[Expr]:
        """The source of a packing copy has a block for each rank, and its strides are integers."""
        guards: list[Expr] = []
        if self.blocks.ranks is not None:
            guards.append(compare(self.ranks(), "<=", self.size(self.blocks.ranks)))
        for distance in (*(self.blocks.source or ()), self._offset()):
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
