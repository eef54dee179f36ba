"""Condition 6: nothing changes an element between its send and its wait."""

from __future__ import annotations

from asphalt.analysis.effects.aliased_arguments import passed_under_two_names
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.aliasing import address_taken, second_name
from asphalt.analysis.names.designators import object_named
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.tree import leaves

CHANGED = Code(
    "ASP601",
    "the send buffer changes between the producer and the call",
    "A statement behind the nest writes the send buffer, so that the tiles would not hold what "
    "the call sends.",
    "Move the statement into the nest or in front of it.",
    6,
)
ALIAS = Code(
    "ASP602",
    "a buffer may have a second name",
    "EQUIVALENCE overlays the buffer, C or MPI keeps its address, or a caller passes the same "
    "array twice: an assignment to another name may change what was sent or overwrite what has "
    "arrived.  Pointers and targets alone are not refused: where another one is accessed before "
    "the call, the conditions on the buffers decide.",
    "Use a plain array.",
    6,
)

CODES = (CHANGED, ALIAS)


def check_names(exchange: Exchange) -> Answer:
    """Whether both buffers have one name each."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    passed = [buffer_of(exchange, arguments.send), buffer_of(exchange, arguments.receive)]
    buffers = [buffer.name for buffer in passed if buffer is not None]
    for buffer in buffers:
        refused = _second_name(exchange, buffer)
        if refused is not None:
            return refused
    if len(set(buffers)) < len(buffers):
        return Refused(ALIAS, "the send and the receive buffer are one array", exchange.span)
    twice = passed_under_two_names(exchange.scope, exchange.located)
    if not twice.no:
        return Refused(ALIAS, twice.reason, twice.span or exchange.span)
    shared = [name for name in buffers if exchange.names.storage(name) == ALIASED]
    if shared:
        return Holds(f"no other pointer or target that is accessed may be {' or '.join(shared)}")
    return Holds(f"{' and '.join(buffers)} have no other names")


def _second_name(exchange: Exchange, buffer: str) -> Refused | None:
    """Why a buffer may have another name, with the statement that shows it."""
    scope = exchange.scope
    found = object_named(buffer, scope)
    if found is None:
        return Refused(ALIAS, f"nothing is known about {buffer}", exchange.span)
    names = second_name(found.root, scope)
    # what pointers reach is one storage: whatever else is accessed through one is looked at then
    watched = names.unknown and "volatile" not in found.symbol.attrs
    for finding in (names, address_taken(found.root, scope)):
        if not finding.no and not (finding is names and watched):
            witness = None if finding.span is None else f"line {finding.span.first}"
            return Refused(ALIAS, f"{found.root} {finding.reason}", exchange.span, witness)
    return None


def check_source(exchange: Exchange, source: str) -> Answer:
    """Whether the array that is sent in place of its packing copy has one name."""
    refused = _second_name(exchange, source)
    if refused is not None:
        return refused
    found = object_named(source, exchange.scope)
    if found is None or not second_name(found.root, exchange.scope).no:
        return Refused(ALIAS, f"pointers may reach {source}", exchange.span)
    return Holds(f"{source} has no other name")


def check(producer: Producer, layout: Layout) -> Answer:
    """Whether only the last phase writes the send buffer."""
    exchange = producer.exchange
    storage = exchange.names.storage(layout.send.buffer)
    inside = {id(leaf) for phase in producer.phases[-1:] for leaf in leaves(phase.nest)}
    for access in producer.footprint.of(storage):
        if access.writes and id(access.leaf) not in inside:
            message = f"{layout.send.buffer} is written outside of the nest that defines it"
            return Refused(CHANGED, message, access.leaf.span)
    return Holds(f"only the nest writes {layout.send.buffer}")
