"""Condition 3: all that the messages need is defined at the entry of the nest and unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.exchange.per_rank import PEER
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange, statement_arguments
from asphalt.analysis.memory.accesses import ALIASED, NameKind
from asphalt.analysis.memory.lifetime import lives_through
from asphalt.analysis.memory.storage import name_kind, storage_of
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.intrinsics import is_inquiry
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Divides, Guard, Layout
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.expr import (
    Arg,
    Component,
    ImpliedDo,
    Op,
    OpaqueExpr,
    Ref,
    Unstructured,
    children,
    walk,
)

CHANGES = Code(
    "ASP301",
    "an argument of the call is not known at the entry of the producer",
    "A count, the communicator, the datatype or a bound of the loop is defined between the entry "
    "of the nest and the call: messages would be sent with the wrong value.",
    "Define it before the nest.",
    3,
)
ALLOCATED = Code(
    "ASP302",
    "a buffer is allocated or changes its shape between producer and call",
    "Receives are posted before the nest runs, so both buffers must exist with their final shape.",
    "Allocate both buffers before the nest.",
    3,
)
NOT_SIMPLE = Code(
    "ASP303",
    "an argument cannot be evaluated before the nest",
    "A count, the communicator or a bound of the loop calls a function that may have side "
    "effects, so that evaluating it earlier, or once more, may give another value.",
    "Assign the value to a variable before the nest.",
    3,
)

KIND = Code(
    "ASP304",
    "sizes are not default integers",
    "The variable of the loop, one of its bounds or a size is an integer of another kind.  "
    "Message counts and tile bounds are default integers, which might not hold its value.",
    "Use default integers for values up to 2147483647.",
    3,
)

VALUE = Code(
    "ASP305",
    "the proof needs the value of a named constant that is not accessible",
    "The proof holds only for the present value of a named constant that is not accessible at the "
    "call, so that the emitted code cannot check it.  After a change in the include file or the "
    "module that defines it, the next build would give wrong results.",
    "Make the constant accessible at the call (USE, INCLUDE), or pass its value as an argument.",
    3,
)

CODES = (CHANGES, ALLOCATED, NOT_SIMPLE, KIND, VALUE)


_CALLED = (NameKind.PROCEDURE, NameKind.UNKNOWN)
_DEFAULT_BYTES = 4  # of every compiler that asphalt is tried with


def check(producer: Producer, layout: Layout) -> Answer:
    """Whether counts, types, communicator, bounds and buffers are the same from entry to call."""
    exchange = producer.exchange
    scope = exchange.scope
    # counts are compared as polynomials, whose atoms are looked at below
    actuals = [
        actual
        for parameter, actual in exchange.call.bound()
        if parameter.kind not in ("BUFFER", "ERROR_CODE") and not parameter.is_count
    ]
    lists = () if layout.uneven is None else layout.uneven.lists
    coded = exchange.open_coded
    if coded is not None:  # the run makes the lists at the entry, from these
        assert coded.blocks is not None
        made = {numbers.actual.name for numbers in lists}
        actuals = [a for a in actuals if not (isinstance(a, Ref) and a.name in made)]
        actuals += coded.blocks.written
        lists = ()
    actuals += layout.needed
    counter = producer.counter
    if counter is not None and layout.packed is None:
        actuals += (counter.unit, counter.first)
    for arg in statement_arguments(exchange.leaf):
        for part in walk(arg):
            refused = _evaluated(part, exchange)
            if refused is not None:
                return refused
    written = producer.footprint.written()
    received = storage_of(layout.receive.buffer, scope)
    for numbers in lists:
        name = designator_name(numbers.actual)
        if name is None or storage_of(name, scope) == received:
            message = f"{name} is needed while pieces are received into it"
            return Refused(CHANGES, message, exchange.span)
    for phase in producer.phases:
        if not _is_default_integer(phase.variable, scope):
            message = f"the loop variable {phase.variable} is not a default integer"
            return Refused(KIND, message, phase.tiled.head.span)
    for expr in (*actuals, *(n.actual for n in lists), producer.first, producer.last):
        for part in _values_read(expr):
            if part == PEER:
                continue
            named = part if coded is not None and isinstance(part, Ref) else None
            if named is not None and storage_of(named.name, scope) == received:
                message = f"{named.spelled} is needed while pieces are received into it"
                return Refused(CHANGES, message, exchange.span)
            refused = _part(part, producer, written)
            if refused is not None:
                return refused
    for poly in _needed(layout):
        for atom in poly.atoms:
            for part in _values_read(atom):
                refused = _part(part, producer, written)
                if refused is not None:
                    return refused
    for buffer in (layout.send.buffer, layout.receive.buffer):
        found = lives_through(buffer, producer.footprint, producer.region, scope)
        if not found.yes:
            return Refused(ALLOCATED, f"{buffer} {found.reason}", found.span or exchange.span)
    return Holds("arguments, bounds and buffers stay the same from the entry of the nest")


def _evaluated(part: Arg, exchange: Exchange) -> Refused | None:
    """The refusal of a part of the call statement that is not evaluated when tiles are sent.

    The conditions compare what the exchange needs as polynomials, in which ``0*f(x)`` vanishes;
    arguments that a wrapper does not pass on do not occur in them at all.
    """
    scope, names = exchange.scope, exchange.names
    match part:
        case Ref(name=name, args=args):
            # a procedure that is passed on as an argument is not called here
            called = args is not None and name_kind(name, True, scope) in _CALLED
            return _not_simple(f"{part.spelled} is a function", exchange) if called else None
        case Component() if names.may_be_function(part):
            return _not_simple(f"{part.spelled} may be a function", exchange)
        case OpaqueExpr(names=inside) | ImpliedDo(names=inside):
            called = any(name_kind(name, True, scope) in _CALLED for name in inside)
            message = f"{part.text} cannot be evaluated earlier"
            return _not_simple(message, exchange) if called else None
        case Op(op=operator) if not names.is_intrinsic_operation(part):
            return _not_simple(f"{operator} may be a function", exchange)
    return None


def _not_simple(message: str, exchange: Exchange) -> Refused:
    return Refused(NOT_SIMPLE, message, exchange.span)


def _part(part: Arg, producer: Producer, written: frozenset[str]) -> Refused | None:
    exchange = producer.exchange
    if isinstance(part, Unstructured):
        return Refused(NOT_SIMPLE, f"{part.text} cannot be evaluated earlier", exchange.span)
    if isinstance(part, Component):
        return _component(part, producer)
    if not isinstance(part, Ref):
        return None
    symbol = exchange.scope.lookup(part.name)
    hidden = symbol is None or symbol.origin is not Origin.INTRINSIC
    if part.args is not None and is_inquiry(part.name) and hidden:
        message = f"{part.name.upper()}, which asphalt needs, is another name here"
        return Refused(NOT_SIMPLE, message, exchange.span)
    kind = name_kind(part.name, part.args is not None, exchange.scope)
    if part.name in exchange.scope.shadowed:
        message = f"a construct gives {part.spelled} another meaning"
        return Refused(NOT_SIMPLE, message, exchange.span)
    if kind in (NameKind.PROCEDURE, NameKind.UNKNOWN):
        return Refused(NOT_SIMPLE, f"{part.spelled} is a function", exchange.span)
    if _is_integer(part.name, exchange.scope) and not _is_default_integer(
        part.name, exchange.scope
    ):
        return Refused(KIND, f"{part.spelled} is not a default integer", exchange.span)
    storage = storage_of(part.name, exchange.scope)
    if kind is NameKind.VARIABLE and storage in written:
        for access in producer.footprint.of(storage):
            if access.writes:
                message = f"{part.spelled} may change between the producer's entry and the call"
                return Refused(CHANGES, message, access.leaf.span)
    return None


def _component(part: Component, producer: Producer) -> Refused | None:
    """The refusal of a component whose value is needed and may change; None: it may not."""
    exchange = producer.exchange
    name = designator_name(part)
    storage = ALIASED if name is None else storage_of(name, exchange.scope)
    for access in producer.footprint.accesses:
        if access.writes and access.touches(storage):
            what = "a component" if name is None or storage == ALIASED else name
            message = f"{what} may change between the producer's entry and the call"
            return Refused(CHANGES, message, access.leaf.span)
    if (
        name is not None
        and _is_integer(name, exchange.scope)
        and not _is_default_integer(name, exchange.scope)
    ):
        return Refused(KIND, f"{name} is not a default integer", exchange.span)
    return None


def _is_integer(name: str, scope: Scope) -> bool:
    symbol = symbol_named(name, scope)
    return symbol is not None and symbol.type is not None and symbol.type.base == "integer"


def _is_default_integer(name: str, scope: Scope) -> bool:
    symbol = symbol_named(name, scope)
    if symbol is None or symbol.type is None or symbol.type.base != "integer":
        return False
    return element_bytes(symbol, scope) == _DEFAULT_BYTES


def _values_read(atom: Arg) -> Iterable[Arg]:
    """The parts of an atom whose values are read; arguments of inquiry functions are not."""
    yield atom
    for child in children(atom):
        if isinstance(atom, Ref) and is_inquiry(atom.name) and isinstance(child, Ref | Component):
            continue
        if isinstance(atom, Component) and child is atom.base and designator_name(child):
            continue
        yield from _values_read(child)


def _needed(layout: Layout) -> Iterable[Poly]:
    yield from (layout.unit, layout.block, layout.offset)
    if layout.window is not None:
        yield layout.window.before
    if layout.strides is not None:
        yield from layout.strides.sizes
    for address in (layout.send, layout.receive):
        yield from (*address.fixed, *address.tail, address.tile_factor, address.block_factor)
        if address.room is not None:
            yield address.room
    if layout.uneven is not None:
        yield from (numbers.lower for numbers in layout.uneven.lists)
    for guard in layout.guards:
        match guard:
            case Guard(left=left, right=right):
                yield from (left, right)
            case Divides(count=count, unit=unit):
                yield from (count, unit)
