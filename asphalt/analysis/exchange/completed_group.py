"""Whether a group of statements completes all messages that it starts, with no other effects.

The emitted exchange defines neither requests nor statuses, counters or loop variables: nothing may
read them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asphalt.analysis.exchange.privatisation import may_be_read_after
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.loops import LoopMessage
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in, mpi_constant
from asphalt.analysis.mpi.library_effects import Quantity, library_row
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Ref, Section
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Leaf, Node, leaves

_ONE = Poly.constant(1)
Reason = tuple[str, Leaf]
Wait = tuple[Leaf, MpiCall]


def why_incomplete(
    exchange: Exchange,
    nodes: Sequence[Node],
    messages: Sequence[LoopMessage],
    waits: Sequence[Wait],
    settings: Sequence[Leaf],
    needed: frozenset[str],
) -> Reason | None:
    """Why a group may leave messages or other effects, with the statement; None: it does not.

    ``exchange``: in the unit in which one call replaces the group, ``nodes``.  ``needed``: the
    names in the block extents, which the run evaluates before the group.
    """
    arrays = {_root(m.request): m.leaf for m in messages if m.request is not None}
    waiting = [_root(call.args.get("array_of_requests")) for _, call in waits]
    for root, leaf in arrays.items():
        if root is None:
            return "the request of the call is not known", leaf
        if waiting.count(root) != 1:
            return f"not one call waits for all of {root}", leaf
    for root, (leaf, call) in zip(waiting, waits, strict=True):
        if root not in arrays:
            return "the call also waits for other operations", leaf
        own = [m for m in messages if _root(m.request) == root]
        reason = _why_not_all(exchange, root or "", own, call, settings)
        if reason is not None:
            return reason, leaf
    for name, leaf in _defined(exchange, nodes):
        if name in needed:
            return f"a message depends on {name}, which changes between the messages", leaf
        if may_be_read_after(exchange, exchange.names.storage(name), exchange.place.position):
            return f"{name} may be used after the exchange", leaf
    return None


def _root(request: Expr | None) -> str | None:
    return request.name if isinstance(request, Ref) else None


def _why_not_all(
    exchange: Exchange,
    root: str,
    messages: list[LoopMessage],
    call: MpiCall,
    settings: Sequence[Leaf],
) -> str | None:
    """Why a call may not wait for exactly the requests of these messages."""
    done = library_row(call.procedure).completion
    count, array = call.args.get("count"), call.args.get("array_of_requests")
    if done is None or not done.certain or done.quantity is not Quantity.ALL or count is None:
        return "the call does not wait for all messages"
    shape = shape_of(root, exchange.scope, exchange.values, exchange.leaf)
    if shape is None or shape.rank != 1 or shape.lower[0] != _ONE:
        return f"{root} is not an array whose first element is the first"
    match array:
        case Ref(args=None) | Ref(args=(Lit("integer", "1"),)):
            pass
        case Ref(args=(Section(lower=None | Lit("integer", "1"), upper=upper, stride=None),)):
            if upper is not None and poly(upper) != poly(count):
                return f"not all of {root} is waited for"
        case _:
            return f"not all of {root} is waited for"
    counters = {m.counter for m in messages}
    if counters != {None}:
        return _why_not_counted(counters, count, settings)
    null = any(_sets(leaf, root, None) and _is_null(exchange, leaf) for leaf in settings)
    if not null and any(m.conditions for m in messages):
        return f"an element of {root} may have no request"
    return _why_not_filled(root, messages, poly(count))


def _why_not_counted(
    counters: set[str | None], count: Expr, settings: Sequence[Leaf]
) -> str | None:
    """Why a counter of the messages may not be their number."""
    if len(counters) != 1 or not isinstance(count, Ref) or count.name not in counters:
        return "the number of requests is not that of the messages"
    initial = [leaf for leaf in settings if _sets(leaf, count.name, None)]
    if len(initial) != 1 or not _sets(initial[0], count.name, Lit("integer", "0")):
        return f"{count.name} is not set to 0 once before the messages"
    return None


def _why_not_filled(root: str, messages: list[LoopMessage], count: Poly) -> str | None:
    """Why the messages may not get the requests 1 to ``count``, one each."""
    ends: list[tuple[Poly, Poly]] = []
    for message in messages:
        head = message.loop.head.what
        assert isinstance(head, DoHead)
        assert isinstance(message.request, Ref)
        args = message.request.args
        if args is None or len(args) != 1 or isinstance(args[0], Section):
            return f"the messages share {root}"
        if head.first is None or head.last is None or not isinstance(head.var, Ref):
            return "the loop does not count"
        shift = poly(args[0]) - Poly.atom(Ref(head.var.name, head.var.name))  # type: ignore[arg-type]
        if any(isinstance(a, Ref) and a.name == head.var.name for a in shift.atoms):
            return f"it is not known which element of {root} a message gets"
        ends.append((poly(head.first) + shift, poly(head.last) + shift))
    following = _ONE
    while ends:
        here = next((pair for pair in ends if pair[0] == following), None)
        if here is None:
            return f"the messages do not get the elements of {root} one after the other"
        ends.remove(here)
        following = here[1] + _ONE
    return None if following - _ONE == count else f"not all of {root} is waited for"


def _sets(leaf: Leaf, name: str, value: Expr | None) -> bool:
    """Whether a statement assigns to a whole variable (``value``: None, anything)."""
    what = leaf.what
    target = what.target if isinstance(what, Assign) else None
    named = isinstance(target, Ref) and target.name == name and target.args is None
    return named and isinstance(what, Assign) and value in (None, what.value)


def _is_null(exchange: Exchange, leaf: Leaf) -> bool:
    what = leaf.what
    assert isinstance(what, Assign)
    return mpi_constant(what.value, exchange.scope) == "mpi_request_null"


def _defined(exchange: Exchange, nodes: Sequence[Node]) -> Iterator[tuple[str, Leaf]]:
    """The variables that the group defines besides the receive buffer and the error code."""
    received, error = exchange.call.args.get("recvbuf"), exchange.call.error
    kept = {part.name for part in (received, error) if isinstance(part, Ref)}
    for leaf in (leaf for node in nodes for leaf in leaves(node)):
        what = leaf.what
        names: list[Expr | None] = []
        if isinstance(what, DoHead):
            names.append(what.var)
        if isinstance(what, Assign):
            names.append(what.target)
        call = mpi_call_in(leaf, exchange.scope)
        if call is not None:
            names += [
                actual
                for parameter, actual in call.bound()
                if parameter.kind in ("REQUEST", "STATUS", "ERROR_CODE")
                and mpi_constant(actual, exchange.scope) is None
            ]
        for name in names:
            if isinstance(name, Ref) and name.name not in kept:
                yield name.name, leaf
