"""Condition 6: nothing changes an element between its send and its wait."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.exchange import Exchange
from asphalt.analysis.geometry import Layout, buffer_ref
from asphalt.analysis.nest import Producer
from asphalt.analysis.symbols import Origin, Symbol
from asphalt.analysis.verdict import Answer, Code, Holds, Refused
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Ref
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import leaves

CHANGED = Code(
    "ASP601",
    "the send buffer changes between the producer and the call",
    "A statement after the nest writes the send buffer, so what was sent before is not what the "
    "call would have sent.",
    "Move the statement into the nest, or in front of it.",
    6,
)
ALIAS = Code(
    "ASP602",
    "a buffer may have a second name",
    "The buffer is a pointer, may be pointed to, is overlaid by EQUIVALENCE, or a caller passes "
    "the same array twice: an assignment to another name may change what was sent or overwrite "
    "what has arrived.",
    "Use a plain array.",
    6,
)

CODES = (CHANGED, ALIAS)


def check_names(exchange: Exchange) -> Answer:
    """Whether both buffers are known by one name each."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    refs = [buffer_ref(exchange, arguments.send), buffer_ref(exchange, arguments.receive)]
    buffers = [ref.name for ref in refs if ref is not None]
    for buffer in buffers:
        symbol = exchange.scope.lookup(buffer)
        if symbol is None:
            return Refused(ALIAS, f"nothing is known about {buffer}", exchange.span)
        reason = _second_name(symbol)
        if reason is not None:
            return Refused(ALIAS, f"{buffer} {reason}", exchange.span)
    if len(set(buffers)) < len(buffers):
        return Refused(ALIAS, "the send and the receive buffer are one array", exchange.span)
    twice = _passed_twice(exchange, buffers)
    if twice is not None:
        return twice
    return Holds(f"{' and '.join(buffers)} have no other names")


def check(producer: Producer, layout: Layout) -> Answer:
    """Whether the send buffer is written by the phases alone."""
    exchange = producer.exchange
    storage = exchange.names.storage(layout.send.buffer)
    inside = {id(leaf) for phase in producer.phases[-1:] for leaf in leaves(phase.nest)}
    for access in producer.footprint.of(storage):
        if access.writes and id(access.leaf) not in inside:
            message = f"{layout.send.buffer} is written outside of the nest that defines it"
            return Refused(CHANGED, message, access.leaf.span)
    return Holds(f"only the nest writes {layout.send.buffer}")


def _second_name(symbol: Symbol) -> str | None:
    if symbol.equivalenced:
        return "is overlaid by EQUIVALENCE"
    for attribute in ("pointer", "target", "volatile"):
        if attribute in symbol.attrs:
            return f"has the attribute {attribute}"
    return None


def _passed_twice(exchange: Exchange, buffers: list[str]) -> Refused | None:
    """A caller in the tree that passes one array to a buffer and to another dummy, too."""
    scope = exchange.scope
    dummies = [
        name
        for name in buffers
        if (symbol := scope.lookup(name)) is not None and symbol.origin is Origin.DUMMY
    ]
    if not dummies or not exchange.located.unit.name:
        return None
    name = exchange.located.unit.name
    for caller in scope.program.mentions(name):
        for node in caller.unit.body:
            for leaf in leaves(node):
                what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
                if not isinstance(what, Call) or not _names(what.procedure, name):
                    continue
                roots = [root for arg in what.args for root in _root(arg)]
                inside = exchange.effects.scopes.of(caller)
                for root in sorted({root for root in roots if roots.count(root) > 1}):
                    passed = inside.lookup(root)
                    if passed is None or passed.is_array:
                        return Refused(ALIAS, f"a caller passes {root} twice", leaf.span)
    return None


def _names(procedure: Expr, name: str) -> bool:
    return isinstance(procedure, Ref | Component) and procedure.name == name


def _root(arg: Arg) -> Iterable[str]:
    value = arg.value if isinstance(arg, Keyword) else arg
    if isinstance(value, Ref):
        yield value.name
