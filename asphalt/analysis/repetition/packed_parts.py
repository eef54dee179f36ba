"""Parts of messages that can be copied into an array of their own, and out of it."""

from __future__ import annotations

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.mpi_buffers import transfer_buffers
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Symbol
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref, Section, TypeSpec, names_in
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_FAMILIES = {
    "integer": "integer",
    "real": "real",
    "double_precision": "real",
    "complex": "complex",
    "double_complex": "complex",
    "logical": "logical",
}
_FORBIDDEN = frozenset({"pointer", "volatile", "codimension", "asynchronous"})
_ONE = Poly.constant(1)


@record
class PackedPart:
    """The elements that one side of a message transfers.

    ``elements``: a scalar, or a section of rank one; ``count``: how many they are; ``type``: as the
    unit can declare it; ``key``: equal for equal types.
    """

    elements: Ref
    count: Poly
    type: TypeSpec
    key: object

    @property
    def is_scalar(self) -> bool:
        """Whether it is one element, and no section."""
        return not any(isinstance(one, Section) for one in self.elements.args or ())

    @property
    def evaluated(self) -> frozenset[str]:
        """The names in its subscripts and its count."""
        found = names_in(self.count.expression())
        for one in self.elements.args or ():
            found |= names_in(one)
        return frozenset(found)


def packed_part(leaf: Leaf, side: MpiCall, facts: UnitFacts) -> PackedPart | str:
    """What a send or a receive transfers; or why it cannot be copied by one assignment."""
    buffer, count, kind = (side.args[name] for name in ("buf", "count", "datatype"))
    scope = facts.scope
    symbol = scope.lookup(buffer.name) if isinstance(buffer, Ref) else None
    if not isinstance(buffer, Ref) or symbol is None or not symbol.origin.is_variable:
        return "a buffer is no variable"
    if symbol.attrs & _FORBIDDEN or facts.names.storage(buffer.name) == ALIASED:
        return f"{symbol.spelled} may have other names"
    known = datatype_of(kind, scope)
    declared = None if symbol.type is None else _FAMILIES.get(symbol.type.base)
    if known is None or known.family != declared or known.bytes is None:
        return f"the datatype of {symbol.spelled} is not that of its elements"
    if known.bytes != element_bytes(symbol, scope):
        return f"the datatype of {symbol.spelled} is not that of its elements"
    number = facts.values.polynomial(count, leaf)
    args = _elements(buffer, symbol, number, leaf, side, facts)
    key = symbol_key(symbol, scope)
    if args is None or key is None or symbol.type is None:
        return f"it is not clear which elements of {symbol.spelled} are meant"
    if not _is_declarable(symbol, scope):
        return f"the kind of {symbol.spelled} has no name here"
    elements = Ref(buffer.name, buffer.spelled, args or None)
    return PackedPart(elements, number, symbol.type, key)


def _elements(
    buffer: Ref, symbol: Symbol, number: Poly, leaf: Leaf, side: MpiCall, facts: UnitFacts
) -> tuple[Expr | Section, ...] | None:
    """The subscripts of exactly the elements that are transferred; (): of a scalar."""
    if symbol.dims is None:
        return () if number == _ONE and buffer.args is None else None
    if buffer.args is None:
        shape = shape_of(buffer.name, facts.scope, facts.values, leaf)
        if shape is None or shape.rank != 1:
            return None
        last = (shape.lower[0] + number - _ONE).expression()
        return (Section(shape.lower[0].expression(), last, None),)
    found = transfer_buffers(leaf, side, facts.scope, facts.values)
    if found is None or len(found) != 1 or found[0].subscripts is None:
        return None
    subscripts = found[0].subscripts
    sections = [one for one in subscripts if isinstance(one, Section)]
    if len(sections) > 1 or any(one.stride is not None for one in sections):
        return None
    if not sections and number != _ONE:
        return None
    return tuple(subscripts)


def _is_declarable(symbol: Symbol, scope: Scope) -> bool:
    """Whether the kind of a variable means the same where another one is declared."""
    kind = None if symbol.type is None else symbol.type.kind
    if kind is None or symbol.home is None or symbol.home is scope:
        return True
    for name in names_in(kind):
        here, there = scope.lookup(name), symbol.home.lookup(name)
        if here is None or there is None or here.identity != there.identity:
            return False
    return True
