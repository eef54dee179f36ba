"""What a procedure evaluates beside its executable statements: the bounds and the lengths in its
declarations (F2018 10.1.11), and expressions in directives of OpenMP."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.memory.accesses import Footprint, NameSemantics
from asphalt.analysis.memory.place_accesses import Record, RecordingPoint
from asphalt.analysis.names.parallel_loops import evaluated_before
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Arg, Lit, Ref
from asphalt.ir.tree import leaves


def evaluated_on_entry(scope: Scope, names: NameSemantics) -> Footprint:
    """The accesses and effects of the specification expressions of a procedure, and of its
    directives, which may be evaluated before all statements."""
    record = Record(names)
    at = RecordingPoint(record, scope.unit.head or scope.unit.end, (), True)
    for symbol in scope.own.values():
        if symbol.home is scope and symbol.origin is not Origin.PARAMETER:
            at.read(*_given(symbol))
    for name in sorted(_named_in_directives(scope)):
        if scope.lookup(name) is not None:
            at.read(Ref(name, name))
    return Footprint(tuple(record.accesses), tuple(record.effects))


def _named_in_directives(scope: Scope) -> frozenset[str]:
    """The names in expressions that the directives of a procedure evaluate."""
    lines = (leaf for node in scope.unit.body for leaf in leaves(node))
    return frozenset[str]().union(*map(evaluated_before, lines))


def _given(symbol: Symbol) -> Iterator[Arg]:
    """The bounds of an array, and the length of a string."""
    bounds = (bound for dim in symbol.dims or () for bound in (dim.lower, dim.upper))
    length = None if symbol.type is None else symbol.type.length
    yield from (one for one in (*bounds, length) if one is not None and not isinstance(one, Lit))
