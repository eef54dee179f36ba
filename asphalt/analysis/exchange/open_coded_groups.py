"""Candidates for open-coded exchanges: loops of messages up to the wait."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from asphalt.analysis.exchange.peers import is_over_ranks
from asphalt.analysis.messages.loops import (
    LoopMessage,
    NotOnlyMessages,
    messages_of,
    starts_messages,
)
from asphalt.analysis.messages.messages import Way
from asphalt.analysis.mpi.call import mpi_call_in
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import Timing, table
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves


@cache
def message_operations() -> frozenset[str]:
    """The folded names of the operations that such an exchange may consist of."""
    found: set[str] = set()
    for name, row in table().items():
        ways = [a for a in library_row(row).accesses if a.store in (Store.INCOMING, Store.OUTGOING)]
        wanted = {Timing.NONBLOCKING: 1, Timing.BLOCKING: 2}.get(row.timing)
        if library_row(row).transfers and len(ways) == wanted:
            found |= {name, f"p{name}"}
    return frozenset(found)


def lists_in(
    nodes: tuple[Node, ...], path: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[Node, ...]]]:
    """The statement lists of a unit with their paths (``transforms`` use the same paths)."""
    yield path, nodes
    for number, node in enumerate(nodes):
        match node:
            case Do(body=body) | Block(body=body):
                yield from lists_in(body, (*path, number))
            case Branch(arms=arms):
                for which, arm in enumerate(arms):
                    yield from lists_in(arm.body, (*path, number, which))


def groups_in(nodes: tuple[Node, ...], scope: Scope) -> Iterator[tuple[int, int]]:
    """The first and the last position of what may be an exchange: loops of messages, up to the
    wait."""
    number = 0
    while number < len(nodes):
        if not starts_messages(nodes[number], scope):
            number += 1
            continue
        end = _last(nodes, number, scope)
        if end is not None and _is_candidate(nodes[number : end + 1], scope):
            start = number
            counted = counted_in(nodes[number : end + 1], scope)
            while start > 0 and (
                sets_scalar(nodes[start - 1]) in counted
                or _is_copy_between(nodes[start - 1], nodes[number : end + 1], scope)
            ):
                start -= 1
            while (
                end + 1 < len(nodes)
                and isinstance(nodes[end + 1], Do | Leaf)
                and (_is_copy_between(nodes[end + 1], nodes[number : end + 1], scope))
            ):
                end += 1
            yield start, end
        number = (number if end is None else end) + 1


def _last(nodes: tuple[Node, ...], start: int, scope: Scope) -> int | None:
    """The position of the last wait for the messages that begin at ``start``."""
    end: int | None = None
    waits = any(
        call is not None and call.procedure.timing is Timing.NONBLOCKING
        for call in (mpi_call_in(leaf, scope) for leaf in leaves(nodes[start]))
    )
    if not waits:
        return start
    for number in range(start + 1, len(nodes)):
        node = nodes[number]
        if starts_messages(node, scope) and end is not None:
            break
        call = mpi_call_in(node, scope) if isinstance(node, Leaf) else None
        if call is not None and call.procedure.timing is Timing.COMPLETING:
            end = number
    return end


def sets_scalar(node: Node) -> str | None:
    """The variable that a statement sets to what may be a number of requests, or the requests
    themselves; None: it sets none."""
    match node:
        case Leaf(what=Assign(target=Ref(name=name, args=None), value=Lit() | Ref(args=None))):
            return name
    return None


def counted_in(nodes: tuple[Node, ...], scope: Scope) -> frozenset[str]:
    """The requests of a group, and what counts them."""
    found = [
        messages_of(n, scope) for n in nodes if isinstance(n, Do) and starts_messages(n, scope)
    ]
    messages = [m for listed in found if not isinstance(listed, NotOnlyMessages) for m in listed]
    return frozenset(name for m in messages for name in counted_by(m))


def counted_by(message: LoopMessage) -> frozenset[str]:
    """The variable that holds the request of a message, and the one that counts requests."""
    request = {message.request.name} if isinstance(message.request, Ref) else set()
    return frozenset(request if message.counter is None else {*request, message.counter})


def _is_candidate(nodes: tuple[Node, ...], scope: Scope) -> bool:
    """Whether there are messages in both directions, and loops over ranks."""
    found = [
        messages_of(n, scope) for n in nodes if isinstance(n, Do) and starts_messages(n, scope)
    ]
    messages = [m for listed in found if not isinstance(listed, NotOnlyMessages) for m in listed]
    ways = {m.envelope.way for m in messages}
    both = ways == {Way.IN, Way.OUT} or any(isinstance(listed, NotOnlyMessages) for listed in found)
    return both and any(_is_ring(m) for m in messages)


def _is_ring(message: LoopMessage) -> bool:
    """Whether the messages go to one rank after the other."""
    head = message.loop.head.what
    assert isinstance(head, DoHead)
    if is_over_ranks(message.envelope.peer):
        return True
    if head.var is None:
        return False
    shifted = poly(message.envelope.peer) - Poly.atom(folded_expr(head.var))
    return shifted.value is not None


def _is_copy_between(node: Node, group: tuple[Node, ...], scope: Scope) -> bool:
    """Whether a statement copies from a send buffer of the group to a receive buffer of it."""
    found = [
        messages_of(n, scope) for n in group if isinstance(n, Do) and starts_messages(n, scope)
    ]
    buffers: dict[Way, set[str]] = {Way.IN: set(), Way.OUT: set()}
    for listed in found:
        for message in () if isinstance(listed, NotOnlyMessages) else listed:
            buffers[message.envelope.way].add(designator_name(message.buffer) or "")
    assigned = [leaf.what for leaf in leaves(node) if isinstance(leaf.what, Assign)]
    return len(assigned) == 1 and (
        (designator_name(assigned[0].target) or "?") in buffers[Way.IN]
        and (designator_name(assigned[0].value) or "?") in buffers[Way.OUT]
    )
