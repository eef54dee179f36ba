"""Packing nests whose flat subscripts fill the blocks of MPI_ALLTOALLV run by run.

    do k = 1, planes                               ! the loop that is tiled
      do p = 0, ranks - 1
        do j = 1, n
          do i = low(p), high(p)
            s(first(p) + 1 + (i - low(p)) + (high(p) - low(p) + 1)*(j - 1 + n*(k - 1))) = ...

With ``first`` the displacements, iteration k writes the k-th run of ``n*(high(p) - low(p) + 1)``
elements of block p, and no other iteration does: what is added to its begin is at least 0 and less
than that.  The run checks that no two blocks overlap (``packed_fit`` in the run-time library).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.packing_counter import (
    PackingCounter,
    bounds_of,
    displacement,
    for_peer,
)
from asphalt.analysis.exchange.per_rank import Uneven, uneven_blocks
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.loop_scalars import is_copy
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Lit, Op, Ref, Section, names_in
from asphalt.ir.tree import Do

_ONE = Poly.constant(1)


def closed_form_of(exchange: Exchange, loops: tuple[Do, ...]) -> PackingCounter | None:
    """How the nest of these loops, of which the last one is to be tiled, fills its blocks; None:
    not in this way."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send = buffer_of(exchange, arguments.send)
    if send is None or send.origin is not None or "%" in send.name or exchange.open_coded:
        return None
    nest, tiled = loops[0], loops[-1]
    shape = shape_of(send.name, exchange.scope, exchange.values, nest.head)
    uneven = uneven_blocks(exchange)
    if shape is None or shape.rank != 1 or not isinstance(uneven, Uneven):
        return None
    storage = exchange.names.storage(send.name)
    accesses = examine((nest,), exchange.names).of(storage)
    writes = [a for a in accesses if a.mode is not Mode.INQUIRE]
    if not writes or not all(a.writes and tiled in a.loops for a in writes):
        return None
    for blocks in writes[0].loops:
        if blocks is not tiled:
            found = _Form(exchange, nest, tiled, blocks, shape, uneven).of(writes)
            if found is not None:
                return found
    return None


class _Form:
    """The subscripts in one iteration of the tiled loop and of a loop over the blocks."""

    def __init__(
        self,
        exchange: Exchange,
        nest: Do,
        tiled: Do,
        blocks: Do,
        shape: Shape,
        uneven: Uneven,
    ) -> None:
        self.exchange = exchange
        self.nest = nest
        self.tiled = tiled
        self.blocks = blocks
        self.lower = shape.lower[0]
        self.uneven = uneven
        footprint = examine((nest,), exchange.names)
        writes = tuple(access for access in footprint.accesses if access.writes)
        both = {exchange.names.storage(loop_variable(loop) or "") for loop in (tiled, blocks)}
        changing = frozenset(footprint.written() - both)
        self.region = Region(exchange.values, nest.head, changing, writes)

    def of(self, writes: list[Access]) -> PackingCounter | None:
        """The form of some writes to the buffer."""
        bounds, along = bounds_of(self.blocks), bounds_of(self.tiled)
        begin = displacement(self.exchange, self.uneven, self.blocks)
        if bounds is None or along is None or begin is None:
            return None
        ends = [self._invariant(end) for end in (*bounds, *along)]
        units = {self._unit(write, begin, ends[2]) for write in writes}
        unit = units.pop()
        if units or unit is None or None in ends:
            return None
        first, last = bounds
        return PackingCounter(
            None,
            self.blocks,
            first,
            last,
            for_peer(_factored(unit), self.blocks, first),
            Poly(),
            is_copy(self.nest, self.exchange.names),
        )

    def _invariant(self, expr: Expr) -> Poly | None:
        """The value of an expression that is the same in all iterations."""
        variables = {loop_variable(self.tiled), loop_variable(self.blocks)}
        return None if names_in(expr) & variables else self.region.value(expr, ())

    def _unit(self, write: Access, begin: Expr, first: Poly | None) -> Poly | None:
        """The elements that an iteration of the tiled loop writes of a block, all of them behind
        those of the iterations before it; None: it does not."""
        if write.subscripts is None or len(write.subscripts) != 1 or write.path or first is None:
            return None
        (subscript,) = write.subscripts
        if isinstance(subscript, Section) or self.blocks not in write.loops:
            return None
        inside = tuple(one for one in write.loops if one not in (self.tiled, self.blocks))
        value = self.region.value_at(subscript, write.leaf, inside)
        start = self.region.value(begin, ())
        name = loop_variable(self.tiled)
        if value is None or start is None or name is None:
            return None
        powers = (value - start - self.lower).coefficients(Ref(name, name))
        if not powers.keys() <= {0, 1} or 1 not in powers:
            return None
        unit, rest = powers[1], powers.get(0, Poly()) + powers[1] * first
        stays = self.region.value(unit.expression(), ())
        if stays is None or name in names_in(unit.expression()) | names_in(rest.expression()):
            return None
        within = replace(write, loops=inside, subscripts=(rest.expression(),))
        outside = self.region.out_of_bounds(within, 0, Poly(), unit - _ONE)
        return unit if outside is None else None


def _factored(unit: Poly) -> Expr:
    """A size as the product that the source has, which overflows only where that one does."""
    rest, factors = unit, list[Expr]()
    for atom in sorted(unit.atoms, key=repr):
        while (less := rest.divided_by(Poly.atom(atom))) is not None:
            rest, factors = less, [*factors, atom]
    product = rest.expression()
    for factor in factors:
        product = factor if product == Lit("integer", "1") else Op("*", (product, factor))
    return product
