"""The named constants on whose values a proof rests.

Sizes are often named constants that an include file or a module sets, and users change them.  A
proof is looked for that holds for any of their values; where there is none, what is emitted asks
for those that were proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asphalt.analysis.constants import constant, is_size
from asphalt.analysis.invoked import invoked
from asphalt.analysis.nest import Producer
from asphalt.analysis.references import actions, expressions_of
from asphalt.analysis.symbols import Scope
from asphalt.ir.expr import Arg, Ref, walk
from asphalt.ir.stmt import Allocation, Call, What
from asphalt.ir.tree import Node, leaves

_DEPTH = 6  # calls that are followed


@dataclass(frozen=True, slots=True)
class Sizes:
    """Named constants with their values, sorted by name.

    ``named``: those that have this name and value where the exchange is.  ``elsewhere``: constants
    of called procedures that the exchange cannot ask for, such as "n = 8 of fill".
    """

    named: tuple[tuple[Ref, int], ...]
    elsewhere: tuple[str, ...]


def sizes_of(producer: Producer) -> Sizes:
    """The named constants that the statements from the producer to the call depend on, directly,
    through what declares or allocates their variables, or in procedures that they call."""
    exchange = producer.exchange
    scope = exchange.scope
    nodes = exchange.place.siblings[producer.start : exchange.place.position + 1]
    statements = (*_statements(nodes), *_allocations(exchange.located.unit.body))
    found: dict[str, tuple[Ref, int]] = {}
    elsewhere: set[str] = set()
    for ref, home in _constants(statements, scope, set(), _DEPTH):
        value = constant(ref, home)
        if value is None:
            continue
        if is_size(ref, scope) and constant(ref, scope) == value:
            found.setdefault(ref.name, (ref, value))
        else:
            elsewhere.add(f"{ref.spelled} = {value} of {home.unit.name}")
    return Sizes(tuple(found[name] for name in sorted(found)), tuple(sorted(elsewhere)))


def _statements(nodes: Iterable[Node]) -> tuple[What, ...]:
    return tuple(what for node in nodes for leaf in leaves(node) for what in actions(leaf.what))


def _allocations(nodes: Iterable[Node]) -> tuple[What, ...]:
    return tuple(what for what in _statements(nodes) if isinstance(what, Allocation))


def _constants(
    statements: Iterable[What], scope: Scope, known: set[int], depth: int
) -> Iterator[tuple[Ref, Scope]]:
    """All named constants in statements and in the procedures that they call, with the scope that
    each is named in."""
    statements = tuple(statements)
    for ref in _with_bounds((e for what in statements for e in expressions_of(what)), scope):
        if is_size(ref, scope):
            yield ref, scope
    if depth == 0:
        return
    for call in _calls(statements, scope):
        called = invoked(call, scope)
        if called is None or id(called[0].unit) in known:
            continue
        unit = called[0].unit
        known.add(id(unit))
        yield from _constants(_statements(unit.body), scope.scopes.of(called[0]), known, depth - 1)


def _calls(statements: Iterable[What], scope: Scope) -> Iterator[Call]:
    """The calls in statements, those of functions among them."""
    for what in statements:
        if isinstance(what, Call):
            yield what
        for expr in expressions_of(what):
            for part in walk(expr):
                if isinstance(part, Ref) and part.args is not None:
                    symbol = scope.lookup(part.name)
                    if symbol is None or symbol.dims is None:
                        yield Call(Ref(part.name, part.spelled), part.args)


def _with_bounds(expressions: Iterable[Arg], scope: Scope) -> Iterator[Ref]:
    """All names in expressions, and in the declared bounds of the arrays among them."""
    seen: set[str] = set()
    waiting = list(expressions)
    while waiting:
        for part in walk(waiting.pop()):
            if not isinstance(part, Ref):
                continue
            yield part if part.args is None else Ref(part.name, part.spelled)
            symbol = scope.lookup(part.name)
            if part.name in seen or symbol is None:
                continue
            seen.add(part.name)
            waiting += [
                bound
                for dim in symbol.dims or ()
                for bound in (dim.lower, dim.upper)
                if bound is not None
            ]
