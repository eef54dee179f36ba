"""The named constants on whose values a proof may rest.

Sizes are often named constants of an include file or a module, which users change.  asphalt prefers
a proof for any of their values; without one, the emitted code tests the values of the proof.  This
module collects the constants to test.  Whether they suffice, a second proof shows, in which only
their values are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.names.constants import constant, is_size
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.analysis.names.symbol import Text
from asphalt.ir.expr import Arg, Component, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import Allocation, Call, What
from asphalt.ir.tree import Node, leaves

_DEPTH = 6  # calls that are followed


@record
class NamedSizes:
    """Named constants with their values, sorted by name.

    ``named``: those that have a name where the exchange is; ``texts``: the statements that give
    their values.  ``elsewhere``: constants that the exchange cannot ask for, such as "n = 8 of
    fill", with these statements.
    """

    named: tuple[tuple[Ref, int], ...]
    texts: frozenset[Text]
    elsewhere: tuple[tuple[str, Span | None], ...]


def sizes_of(producer: Producer, whole_unit: bool = False) -> NamedSizes:
    """The named constants that the statements from the producer to the call depend on, directly,
    through what declares or allocates their variables, or in procedures that they call; with
    ``whole_unit`` those of all statements of the unit."""
    exchange = producer.exchange
    scope, body = exchange.scope, exchange.located.unit.body
    nodes = exchange.place.siblings[producer.start : exchange.place.position + 1]
    statements = (*_statements(body if whole_unit else nodes), *_allocations(body))
    found: dict[str, tuple[Ref, int]] = {}
    texts: set[Text] = set()
    elsewhere: dict[str, Span | None] = {}
    for ref, home in _constants(statements, scope, set(), _DEPTH):
        value, symbol, here = constant(ref, home), home.lookup(ref.name), scope.lookup(ref.name)
        if value is None or symbol is None:
            continue
        if here is not None and here.text == symbol.text and constant(ref, scope) == value:
            found.setdefault(ref.name, (ref, value))
            texts.add(symbol.text)
        else:
            elsewhere[f"{ref.spelled} = {value} of {home.unit.name}"] = symbol.initial_span
    named = tuple(found[name] for name in sorted(found))
    return NamedSizes(
        named, frozenset(texts), tuple((text, elsewhere[text]) for text in sorted(elsewhere))
    )


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
    for ref, home in _with_bounds((e for what in statements for e in expressions_of(what)), scope):
        if is_size(ref, home):
            yield ref, home
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
    """The calls in statements, including function references."""
    for what in statements:
        if isinstance(what, Call):
            yield what
        for expr in expressions_of(what):
            for part in walk(expr):
                if isinstance(part, Ref) and part.args is not None:
                    symbol = scope.lookup(part.name)
                    if symbol is None or symbol.dims is None:
                        yield Call(Ref(part.name, part.spelled), part.args)


def _with_bounds(expressions: Iterable[Arg], scope: Scope) -> Iterator[tuple[Ref, Scope]]:
    """All names in expressions, and in the declared bounds of the arrays among them, with the
    scope that each is to be read in."""
    seen: set[tuple[str, int]] = set()
    waiting = [(expression, scope) for expression in expressions]
    while waiting:
        expression, home = waiting.pop()
        for part in walk(expression):
            if isinstance(part, Ref):
                yield part if part.args is None else Ref(part.name, part.spelled), home
                symbol = home.lookup(part.name)
            elif isinstance(part, Component):
                symbol = _component(part, home)
            else:
                continue
            if symbol is None or not isinstance(symbol.home, Scope):
                continue
            if (symbol.name, id(symbol.home)) in seen:
                continue
            seen.add((symbol.name, id(symbol.home)))
            waiting += [
                (bound, symbol.home)
                for dim in symbol.dims or ()
                for bound in (dim.lower, dim.upper)
                if bound is not None
            ]


def _component(part: Component, scope: Scope) -> Symbol | None:
    name = designator_name(part)
    return None if name is None else symbol_named(name, scope)
