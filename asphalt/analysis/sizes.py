"""The named constants on whose values a proof rests.

Sizes are often named constants that an include file or a module sets, and users change them.  A
proof is looked for that holds for any of their values; where there is none, what is emitted asks
for those that were proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.constants import constant, is_size
from asphalt.analysis.nest import Producer
from asphalt.analysis.references import actions, expressions_of
from asphalt.analysis.symbols import Scope
from asphalt.ir.expr import Arg, Ref, walk
from asphalt.ir.tree import leaves


def sizes_of(producer: Producer) -> tuple[tuple[Ref, int], ...]:
    """The named constants that the statements from the producer to the call depend on, directly or
    through what declares their variables, with their values; sorted by name."""
    exchange = producer.exchange
    nodes = exchange.place.siblings[producer.start : exchange.place.position + 1]
    written = (
        expr
        for node in nodes
        for leaf in leaves(node)
        for what in actions(leaf.what)
        for expr in expressions_of(what)
    )
    found: dict[str, tuple[Ref, int]] = {}
    for ref in _with_bounds(written, exchange.scope):
        value = constant(ref, exchange.scope) if is_size(ref, exchange.scope) else None
        if value is not None:
            found.setdefault(ref.name, (ref, value))
    return tuple(found[name] for name in sorted(found))


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
