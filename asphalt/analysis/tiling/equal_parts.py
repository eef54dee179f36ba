"""A message as equal parts, one for each iteration of a loop: the segments.

Danalis et al., ICS 2009, section 4, "MPI function segmentation rules": a message of N elements is
the same transfer as several of consecutive elements.  Here a part has all elements of the leading
dimensions of the buffer, and those of one index of the next dimension.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.constant_dummies import ConstantDummies
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED, Access, Mode, Subscript
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.designators import symbol_named
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Expr, Keyword, Lit, Op, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.tree import Do, Leaf

_ONE = Poly.constant(1)


@record
class ConstantTrips:
    """The iterations of a loop with step 1 and constant bounds."""

    first: Poly
    last: Poly

    @property
    def number(self) -> Poly:
        """The number of iterations."""
        return self.last - self.first + _ONE


@record
class MessageParts:
    """The parts of a message: ``each`` has so many elements, and that of iteration ``i`` begins at
    subscript ``i + offset`` of dimension ``dimension`` (from 0) of ``buffer``, with ``begin`` for
    all subscripts of the first one."""

    buffer: Ref
    begin: tuple[Expr, ...]
    dimension: int
    offset: Poly
    each: Poly

    def element(self, iteration: Expr) -> Ref:
        """The first element of the part of an iteration."""
        begin, end = self.begin[: self.dimension], self.begin[self.dimension + 1 :]
        subscripts = (*begin, self._index(iteration), *end)
        return Ref(self.buffer.name, self.buffer.spelled, subscripts)

    def access(self, mode: Mode, leaf: Leaf, loop: Do, facts: UnitFacts) -> Access:
        """The access to the buffer by the message of an iteration."""
        variable = loop_variable(loop)
        assert variable is not None
        whole = (Section(None, None, None),) * self.dimension
        index = self._index(Ref(variable, variable))
        subscripts: tuple[Subscript, ...] = (*whole, index, *self.begin[self.dimension + 1 :])
        return Access(storage_of(self.buffer.name, facts.scope), mode, subscripts, leaf, (loop,))

    def _index(self, iteration: Expr) -> Expr:
        value = self.offset.value
        if value is None:
            return Op("+", (iteration, Op("()", (self.offset.expression(),))))
        if value == 0:
            return iteration
        return Op("+" if value > 0 else "-", (iteration, Lit("integer", str(abs(value)))))


def parts_of(
    buffer: Expr, count: Expr, datatype: Expr, trips: ConstantTrips, leaf: Leaf, facts: UnitFacts,
    dummies: ConstantDummies,
) -> MessageParts | None:  # fmt: skip
    """The parts of a message for the iterations of a loop; None: it has no such parts."""
    if not isinstance(buffer, Ref) or not reference_contiguity(buffer, facts.scope).yes:
        return None
    scope, values = facts.scope, facts.values
    symbol = symbol_named(buffer.name, scope)
    known = datatype_of(datatype, scope)
    if symbol is None or known is None or known.bytes is None:
        return None
    if storage_of(buffer.name, scope) == ALIASED or symbol.equivalenced:
        return None
    if known.bytes != element_bytes(symbol, scope):
        return None
    shape = shape_of(buffer.name, scope, values, leaf)
    each = dummies.replaced(values.polynomial(count, leaf)).divided_by(trips.number)
    if shape is None or each is None:
        return None
    begin = _begin(buffer, shape.lower)
    if begin is None or len(begin) != shape.rank:
        return None
    rest = each
    for number, (given, lower, extent) in enumerate(
        zip(begin, shape.lower, shape.extent, strict=True)
    ):
        start = dummies.replaced(values.polynomial(given, leaf))
        if rest == _ONE:
            # beyond the last dimension there is nothing, but in a common block
            last = number == shape.rank - 1 and symbol.common_block is None
            if not last and not _fits(start - lower + trips.number, extent, dummies):
                return None
            return MessageParts(buffer, begin, number, start - trips.first, each)
        quotient = None if extent is None else rest.divided_by(dummies.replaced(extent))
        if start != dummies.replaced(lower) or quotient is None:
            return None
        rest = quotient
    return None


def _begin(buffer: Ref, lower: tuple[Poly, ...]) -> tuple[Expr, ...] | None:
    if buffer.args is None:
        return tuple(bound.expression() for bound in lower)
    if any(isinstance(arg, Section | Keyword | AltReturn) for arg in buffer.args):
        return None
    return tuple(arg for arg in buffer.args if not isinstance(arg, Section | Keyword | AltReturn))


def _fits(end: Poly, extent: Poly | None, dummies: ConstantDummies) -> bool:
    """Whether a message certainly ends within a dimension."""
    room = None if extent is None else (dummies.replaced(extent) - dummies.replaced(end)).value
    return room is not None and room >= 0
