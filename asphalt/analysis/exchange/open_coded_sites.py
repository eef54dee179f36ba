"""The open-coded exchange sites of a unit, each replaced by one call for the analysis."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.exchange.completed_group import why_incomplete
from asphalt.analysis.exchange.open_coded_blocks import OpenCodedGroup, sorted_out, understood
from asphalt.analysis.exchange.open_coded_exchange import NotAnExchange, OpenCoded
from asphalt.analysis.exchange.open_coded_groups import groups_in, lists_in
from asphalt.analysis.exchange.site import Exchange, at_calls, statements
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.messages.loops import starts_messages
from asphalt.analysis.messages.messages import Way
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.edit import rewrite_list
from asphalt.ir.expr import Component, Expr, Ref, names_in
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, leaves

_COLLECTIVE = "mpi_alltoallv"


def open_coded_exchanges(located: Located, effects: Effects) -> tuple[Exchange, ...]:
    """The open-coded exchanges of one unit."""
    scope = effects.scopes.of(located)
    groups = [
        (path, start, end)
        for path, nodes in lists_in(located.unit.body, ())
        for start, end in groups_in(nodes, scope)
    ]
    found = (_exchange(located, effects, path, start, end) for path, start, end in groups)
    return tuple(exchange for exchange in found if exchange is not None)


def _exchange(
    located: Located, effects: Effects, path: tuple[int, ...], start: int, end: int
) -> Exchange | None:
    """The exchange that a group may be, in the unit in which one call replaces it."""
    scope = effects.scopes.of(located)
    values = Values(scope, effects.names(scope))
    nodes = next(listed for where, listed in lists_in(located.unit.body, ()) if where == path)
    group = nodes[start : end + 1]
    found = sorted_out(group, scope)
    anchor = next(
        leaf
        for node in group
        if starts_messages(node, scope)
        for leaf in leaves(node)
        if mpi_call_in(leaf, scope) is not None
    )
    if anchor.span is None:
        return None
    first = next(iter(leaves(group[0])))
    operations = dict.fromkeys(
        call.procedure.spelled
        for node in group
        if starts_messages(node, scope)
        for leaf in leaves(node)
        if (call := mpi_call_in(leaf, scope)) is not None
    )
    coded = OpenCoded(located, group, anchor, "/".join(operations))
    if isinstance(found, NotAnExchange):
        coded = replace(coded, fault=found)
    else:
        coded = understood(coded, found, scope, values)
    call, statement = _call(coded, found, scope)
    leaf = Leaf(statement, anchor.span, first.lead, first.head)
    body = rewrite_list(
        located.unit.body, (*path, start), lambda old: (*old[:start], leaf, *old[end + 1 :])
    )
    unit = replace(located.unit, body=body)
    virtual = replace(located, chain=(*located.chain[:-1], unit))
    place = next(place for other, place in statements(body) if other is leaf)
    (exchange,) = at_calls(virtual, effects, [(leaf, call, False, place)])
    exchange = replace(exchange, open_coded=coded)
    if coded.fault is None and not isinstance(found, NotAnExchange):
        assert coded.blocks is not None
        needed = frozenset(name for expr in coded.blocks.written for name in names_in(expr))
        reason = why_incomplete(
            exchange, group, found.messages, found.waits, found.settings, needed
        )
        if reason is not None:
            coded = replace(coded, fault=NotAnExchange("ends", reason[0], reason[1].span))
            exchange = replace(exchange, open_coded=coded)
    return exchange


def _call(
    coded: OpenCoded, group: OpenCodedGroup | NotAnExchange, scope: Scope
) -> tuple[MpiCall, Call]:
    """The collective call that replaces a group."""
    row = procedure(_COLLECTIVE)
    assert row is not None
    name = Ref(row.name, row.spelled)
    own = mpi_call_in(coded.anchor, scope)
    assert own is not None
    if coded.blocks is None or isinstance(group, NotAnExchange):
        return MpiCall(row.name, {}, own.binding, None, row), Call(name, ())
    send = next(m for m in group.messages if m.envelope.way is Way.OUT)
    receive = next(m for m in group.messages if m.envelope.way is Way.IN)
    lists = [numbers.actual for numbers in coded.uneven.lists]
    args: dict[str, Expr] = {
        "sendbuf": _whole(send.buffer),
        "sendcounts": lists[0],
        "sdispls": lists[1],
        "sendtype": send.datatype,
        "recvbuf": _whole(receive.buffer),
        "recvcounts": lists[2],
        "rdispls": lists[3],
        "recvtype": receive.datatype,
        "comm": send.envelope.communicator,
    }
    last = group.waits[-1][1] if group.waits else receive.call
    if last.error is not None:
        args["ierror"] = last.error
    call = MpiCall(row.name, args, own.binding, last.error, row, own.profiled)
    return call, Call(name, tuple(args.values()))


def _whole(buffer: Expr) -> Expr:
    """The array that an element or a section is of."""
    assert isinstance(buffer, Ref | Component)
    return replace(buffer, args=None)
