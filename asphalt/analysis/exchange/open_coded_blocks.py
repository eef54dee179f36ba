"""The blocks that the messages of a group transfer: their lengths, positions and peers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from asphalt.analysis.exchange.block_copies import BlockCopy, block_copy
from asphalt.analysis.exchange.open_coded_exchange import BlockExtents, NotAnExchange, OpenCoded
from asphalt.analysis.exchange.open_coded_groups import counted_by, counted_in, sets_scalar
from asphalt.analysis.exchange.peers import Peers, is_over_ranks, peers_of, unequal
from asphalt.analysis.exchange.per_rank import PEER
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.messages.loops import (
    LoopMessage,
    NotOnlyMessages,
    messages_of,
    replaced,
    starts_messages,
)
from asphalt.analysis.messages.messages import Way
from asphalt.analysis.mpi.call import MpiCall, mpi_call_in
from asphalt.analysis.mpi.library_effects import is_synchronous_mode
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr, poly
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, Section, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead, Guarded
from asphalt.ir.tree import Do, Leaf, Node, leaves

_ZERO = Poly()


@dataclass(slots=True)
class OpenCodedGroup:
    """The statements of a group by their role."""

    messages: list[LoopMessage] = field(default_factory=list)
    copies: list[Node] = field(default_factory=list)
    waits: list[tuple[Leaf, MpiCall]] = field(default_factory=list)
    settings: list[Leaf] = field(default_factory=list)


def sorted_out(nodes: tuple[Node, ...], scope: Scope) -> OpenCodedGroup | NotAnExchange:
    """The statements of a group by role; or why one of them is not part of an exchange."""
    group = OpenCodedGroup()
    counted = counted_in(nodes, scope)
    for node in nodes:
        if isinstance(node, Do) and starts_messages(node, scope):
            found = messages_of(node, scope)
            if isinstance(found, NotOnlyMessages):
                return NotAnExchange("between", found.reason, found.leaf.span)
            group.messages += found
            continue
        if isinstance(node, Leaf):
            call = mpi_call_in(node, scope)
            if call is not None and call.procedure.timing is Timing.COMPLETING:
                if isinstance(node.what, Guarded) and not says_some(
                    node.what.condition, call.args.get("count")
                ):
                    return NotAnExchange(
                        "ends", "the call may not wait for the messages", node.span
                    )
                group.waits.append((node, call))
                continue
            target = sets_scalar(node)
            if target in counted:
                if target in {name for m in group.messages for name in counted_by(m)}:
                    text = f"{target} is set between the messages that use it"
                    return NotAnExchange("between", text, node.span)
                group.settings.append(node)
                continue
        if sum(isinstance(leaf.what, Assign) for leaf in leaves(node)) == 1:
            group.copies.append(node)
            continue
        span = next(iter(leaves(node))).span
        return NotAnExchange(
            "between", "a statement between the messages is not part of the exchange", span
        )
    return group


def understood(coded: OpenCoded, group: OpenCodedGroup, scope: Scope, values: Values) -> OpenCoded:
    """The blocks that the messages of a group transfer."""

    def fault(kind: str, reason: str, leaf: Leaf) -> OpenCoded:
        return replace(coded, fault=NotAnExchange(kind, reason, leaf.span))

    ways = {way: [m for m in group.messages if m.envelope.way is way] for way in (Way.OUT, Way.IN)}
    for way, messages in ways.items():
        if len(messages) != 1:
            text = f"a rank {way.value} more than one message of each other"
            return fault("peers", text, messages[-1].leaf)
    send, receive = ways[Way.OUT][0], ways[Way.IN][0]
    if is_synchronous_mode(send.call.procedure):
        return fault(
            "ends",
            "the completion of a synchronous send shows that its receive has started",
            send.leaf,
        )
    tag = _one_tag(send, receive, values)
    if tag is None:
        return fault("peers", "the tags are not one constant", receive.leaf)
    comms = [folded_expr(m.envelope.communicator) for m in (send, receive)]
    if comms[0] != comms[1]:
        return fault("peers", "the messages travel on two communicators", receive.leaf)
    sides: list[_Side] = []
    for message in (send, receive):
        side = _side(message, scope, values)
        if isinstance(side, str):
            return fault("peers", side, message.leaf)
        sides.append(side)
    out, into = sides
    if out.peers.ranks != into.peers.ranks:
        return fault(
            "peers", "sends and receives go through different numbers of ranks", receive.leaf
        )
    if out.peers.left_out != into.peers.left_out:
        return fault("peers", "sends and receives leave out different ranks", receive.leaf)
    own = out.peers.own or into.peers.own
    for node in group.copies:
        leaf = next(leaf for leaf in leaves(node) if isinstance(leaf.what, Assign))
        copy = block_copy(node, scope, values)
        if out.peers.left_out is None or copy is None or group.copies[0] is not node:
            return fault(
                "between", "a statement between the messages is not part of the exchange", leaf
            )
        wrong = _wrong_copy(copy, out, into, out.peers.left_out, values)
        if wrong is not None:
            return fault("peers", wrong, leaf)
    left_out = None if group.copies else out.peers.left_out
    if group.copies and out.peers.left_out is not None:
        out, into = (_copied(side, out.peers.left_out) for side in sides)
    blocks = BlockExtents(
        out.peers.ranks.expression(),
        None if own is None else own.expression(),
        out.count,
        _guards(out, left_out),
        out.displacement.expression(),
        into.count,
        _guards(into, left_out),
        into.displacement.expression(),
        send.envelope.tag,
    )
    return replace(coded, blocks=blocks, tag=tag)


def _one_tag(send: LoopMessage, receive: LoopMessage, values: Values) -> int | None:
    """The tag of all messages; None: it is not one constant."""
    tags = [values.constants(m.envelope.tag).value for m in (send, receive)]
    return tags[0] if tags[0] is not None and tags[0] == tags[1] and tags[0] >= 0 else None


@record
class _Side:
    """The messages in one direction: ``count`` over ``PEER`` where the ``guards`` hold."""

    peers: Peers
    buffer: str
    shape: Shape
    displacement: Poly
    count: Expr
    guards: tuple[Expr, ...]


def _side(message: LoopMessage, scope: Scope, values: Values) -> _Side | str:
    """The messages in one direction; or why they are not understood."""
    head = message.loop.head.what
    assert isinstance(head, DoHead)
    assert isinstance(head.var, Ref)
    variable = head.var.name
    peer = folded_expr(message.envelope.peer)
    left_out: Poly | None = None
    kept: list[Expr] = []
    for condition in message.conditions:
        sides = unequal(condition)
        polys = None if sides is None else [poly(side) for side in sides]
        if polys is not None and poly(peer) in polys:
            other = polys[1 - polys.index(poly(peer))]
            if left_out not in (None, other):
                return "two ranks are left out"
            left_out = other
        else:
            kept.append(condition)
    peers = peers_of(message.loop, peer, left_out)
    if isinstance(peers, str):
        return peers

    def of_peer(expr: Expr) -> Expr | None:
        """An expression with the peer in place of the loop variable."""
        named: Expr = replaced(expr, peer, PEER)  # type: ignore[assignment]
        if variable in names_in(named) and not is_over_ranks(peer):
            shift = poly(peer) - Poly.atom(Ref(variable, variable))
            turn = (Poly.atom(PEER) - shift).expression()
            named = replaced(named, Ref(variable, variable), turn)  # type: ignore[assignment]
        return None if variable in names_in(named) else named

    count, buffer = of_peer(message.count), of_peer(message.buffer)
    guards = [of_peer(condition) for condition in kept]
    if count is None or buffer is None or None in guards:
        return "a count or a displacement depends on more than the rank of the peer"
    name = designator_name(message.buffer)
    if name is None or not isinstance(buffer, Ref | Component):
        return "a buffer is not an array"
    shape = shape_of(name, scope, values, message.leaf)
    displacement = None if shape is None else _displacement(buffer, shape)
    if shape is None or displacement is None:
        return "the position of the first element of a buffer is not known"
    kept_guards = tuple(guard for guard in guards if guard is not None)
    return _Side(peers, name, shape, displacement, count, kept_guards)


def _displacement(buffer: Ref | Component, shape: Shape) -> Poly | None:
    """The number of elements in front of the first one that is passed."""
    if buffer.args is None:
        return _ZERO
    if len(buffer.args) != shape.rank:
        return None
    total = _ZERO
    closed = False
    for number, (arg, lower) in enumerate(zip(buffer.args, shape.lower, strict=True)):
        if isinstance(arg, Section):
            if arg != Section(None, None, None) or closed:
                return None
            continue
        if not isinstance(arg, Lit | Ref | Component | Op):
            return None
        closed = True
        total += (poly(arg) - lower) * shape.stride(number)
    return total


def _guards(side: _Side, left_out: Poly | None) -> tuple[Expr, ...]:
    """The conditions of a message; the first one excludes the left-out rank."""
    if left_out is None:
        return side.guards
    return (Op("/=", (PEER, left_out.expression())), *side.guards)


def _copied(side: _Side, own: Poly) -> _Side:
    """The same where the block of the rank itself goes without a condition, as its copy does.

    That makes a difference where the condition is about a factor of the length: all of them may be
    negative.
    """
    is_own = Op("==", (PEER, own.expression()))
    whole = folded_expr(side.count)
    guards = (
        guard if says_some(guard, whole, exact=True) else Op(".or.", (is_own, guard))
        for guard in side.guards
    )
    return replace(side, guards=tuple(guards))


def _wrong_copy(copy: BlockCopy, out: _Side, into: _Side, own: Poly, values: Values) -> str | None:
    """Why a copy is not that of the rank's own block; None: it is."""

    def at_own(value: Poly) -> Poly:
        expr = replaced(value.expression(), PEER, own.expression())
        return values.constants(expr)  # type: ignore[arg-type]

    if not all(says_some(guard, side.count) for side in (out, into) for guard in side.guards):
        return "the copy is made where the messages are left out"
    types = [getattr(symbol_named(s.buffer, values.scope), "type", None) for s in (out, into)]
    if None in types or types[0] != types[1]:
        return "the copy may convert types"
    expected = (
        (copy.source, out.buffer),
        (copy.target, into.buffer),
        (values.constants(copy.source_at.expression()), at_own(out.displacement)),
        (values.constants(copy.target_at.expression()), at_own(into.displacement)),
        (values.constants(copy.count.expression()), at_own(poly(out.count))),
        (values.constants(copy.count.expression()), at_own(poly(into.count))),
    )
    if all(found == wanted for found, wanted in expected):
        return None
    return "the copy may not be that of the block that the rank would send to itself"


def says_some(condition: Expr, count: Expr | None, exact: bool = False) -> bool:
    """Whether a condition only says that a number is not 0: ``count > 0``, ``count /= 0``, or the
    same of a factor of it (``rows > 0`` where the number is ``columns*rows``; ``exact``: not so,
    since both factors may be negative)."""
    if count is None or not isinstance(condition, Op):
        return False
    if condition.op == "()":
        return says_some(condition.operands[0], count, exact)
    sides = unequal(condition)
    if condition.op in (">", "<"):
        greater, less = condition.operands if condition.op == ">" else condition.operands[::-1]
        sides = (greater, less) if poly(less) == _ZERO else None
    factors = [poly(side) for side in sides or () if poly(side) != _ZERO]
    if len(factors) != 1:
        return False
    if exact and condition.op in (">", "<"):
        return factors[0] == poly(count)
    return _divides(factors[0], poly(count))


def _divides(factor: Poly, value: Poly) -> bool:
    """Whether a value equals another one, or a product of it with variables."""
    if factor == value:
        return True
    if len(factor.terms) != 1 or len(value.terms) != 1:
        return False
    ((own, one),), ((all_of_them, number),) = factor.terms, value.terms
    return number % one == 0 and number // one > 0 and not Counter(own) - Counter(all_of_them)
