"""Whether a group of statements completes all messages that it starts, with no other effects.

The emitted exchange defines neither requests nor statuses, counters or loop variables: nothing may
read them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asphalt.analysis.exchange.peers import Peers, is_over_ranks, peers_of
from asphalt.analysis.exchange.privatisation import may_be_read_after
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.loops import LoopMessage
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in, mpi_constant
from asphalt.analysis.mpi.library_effects import Quantity, library_row
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Op, Ref, Section, names_in
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do, Leaf, Node, leaves

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
    if shape is None or shape.rank != 1:
        return f"{root} is not an array of one dimension with known bounds"
    lower = shape.lower[0]
    if not _is_begin(array, lower, lower + poly(count) - _ONE):
        return f"not all of {root} is waited for"
    counters = {m.counter for m in messages}
    if counters != {None}:
        if lower != _ONE:
            return f"{root} is not an array whose first element is the first"
        return _why_not_counted(counters, count, settings)
    null = any(_sets(leaf, root, None) and _is_null(exchange, leaf) for leaf in settings)
    if not null and any(m.conditions for m in messages):
        return f"an element of {root} may have no request"
    return _why_not_filled(root, messages, lower, poly(count))


def _is_begin(array: Expr | None, lower: Poly, last: Poly) -> bool:
    """Whether an argument passes an array from its first element on, at least up to ``last``."""
    match array:
        case Ref(args=None):
            return True
        case Ref(args=(Section(lower=first, upper=upper, stride=None),)):
            begins = first is None or poly(first) == lower
            return begins and (upper is None or poly(upper) == last)
        case Ref(args=(Lit() | Ref() | Op() as first,)):
            return poly(first) == lower
    return False


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


def _why_not_filled(root: str, messages: list[LoopMessage], lower: Poly, count: Poly) -> str | None:
    """Why the messages may not get the first ``count`` requests from ``lower`` on, one each."""
    ends: list[tuple[Poly, Poly]] = []
    beside: dict[tuple[int, int], list[Poly]] = {}  # of a loop that steps through requests
    loops: dict[int, tuple[Poly, Poly]] = {}
    for message in messages:
        head = message.loop.head.what
        assert isinstance(head, DoHead)
        assert isinstance(message.request, Ref)
        args = message.request.args
        if args is None or len(args) != 1 or isinstance(args[0], Section):
            return f"the messages share {root}"
        if head.first is None or head.last is None or not isinstance(head.var, Ref) or head.step:
            return "the loop does not count"
        first, last = poly(head.first), poly(head.last)
        element = poly(args[0])  # type: ignore[arg-type]
        variable = Ref(head.var.name, head.var.name)
        powers = element.coefficients(variable)
        step = powers.get(1, Poly()).value or 0
        shift = element - Poly.constant(step) * Poly.atom(variable)
        if step > 0 and not _varies(shift, variable):
            loops[id(message.loop)] = first, last
            beside.setdefault((id(message.loop), step), []).append(shift)
            continue
        of_rank = _of_every_rank(element, message.loop, variable)
        if of_rank is None:
            return f"it is not known which element of {root} a message gets"
        ends.append((of_rank, of_rank + last - first))
    for (loop, step), shifts in beside.items():
        first, last = (Poly.constant(step) * end for end in loops[loop])
        if step > 1:  # an iteration takes a run of requests
            shifts = [s for s in shifts if _are_run([o - s for o in shifts], step)]
        if not shifts:
            return f"the messages do not get the elements of {root} one after the other"
        ends += ((first + s, last + s + Poly.constant(step) - _ONE) for s in shifts)
    following = lower
    while ends:
        here = next((pair for pair in ends if pair[0] == following), None)
        if here is None:
            return f"the messages do not get the elements of {root} one after the other"
        ends.remove(here)
        following = here[1] + _ONE
    return None if following - lower == count else f"not all of {root} is waited for"


def _are_run(distances: list[Poly], number: int) -> bool:
    """Whether distances are 0 to ``number - 1``."""
    return sorted(d.value if d.value is not None else -1 for d in distances) == list(range(number))


def _varies(value: Poly, variable: Ref) -> bool:
    return any(variable.name in names_in(atom) for atom in value.atoms)


def _of_every_rank(element: Poly, loop: Do, variable: Ref) -> Poly | None:
    """The subscript for rank 0, where a subscript is a rank plus that, and a loop visits every
    rank once; None: it is not."""
    for rank in element.atoms:
        begin = element - Poly.atom(rank)
        if not is_over_ranks(rank) or _varies(begin, variable):
            continue
        peers = peers_of(loop, rank, None)
        if isinstance(peers, Peers) and peers.left_out is None and peers.own is None:
            return begin
    return None


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
