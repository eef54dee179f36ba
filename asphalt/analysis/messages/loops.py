"""Loops that only exchange messages, one with each of several ranks.

The body of such a loop starts transfers.  Otherwise it computes scalar arguments of the calls, and
skips ranks. asphalt substitutes these scalars, so that the loop's variable and loop-invariant
variables describe a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from asphalt.analysis.memory.forward_substitution import is_integer
from asphalt.analysis.messages.messages import Envelope, Way, envelopes_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_call_in
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import folded_expr
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, Guarded, Jump, JumpKind, Plain
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves

Known = dict[str, Expr]
_VARIES = "depends on a variable that the loop changes"


@record
class LoopMessage:
    """A message of an iteration.

    ``buffer``, ``count``, ``datatype``, ``request``, the ``envelope`` and the ``conditions`` of the
    message are expressions in the loop's variable.  ``counter``: the variable that was incremented
    for the subscript of the request; None: there is none.
    """

    leaf: Leaf
    call: MpiCall
    loop: Do
    envelope: Envelope
    buffer: Expr
    count: Expr
    datatype: Expr
    request: Expr | None
    counter: str | None
    conditions: tuple[Expr, ...]


@record
class NotOnlyMessages:
    """Why a loop does not only exchange messages, and the statement that shows it."""

    reason: str
    leaf: Leaf


@dataclass(slots=True)
class _Path:
    """Known values and conditions at a place of the body."""

    known: Known
    conditions: tuple[Expr, ...]
    counted: dict[str, int] = field(default_factory=dict)  # less the messages that used it
    inside: bool = False  # of a branch


def starts_messages(node: Node, scope: Scope) -> bool:
    """Whether a loop contains calls that exchange messages with another rank."""
    return isinstance(node, Do) and any(
        call is not None and _is_transfer(call)
        for call in (mpi_call_in(n, scope) for n in leaves(node))
    )


def _is_transfer(call: MpiCall) -> bool:
    """Whether a call starts, or is, a transfer with one rank in each of its directions."""
    timing = call.procedure.timing
    row = library_row(call.procedure)
    both = len(envelopes_of(call) or ()) == 2
    starts = timing is Timing.NONBLOCKING and len(envelopes_of(call) or ()) == 1
    return bool(row.transfers) and (starts or (timing is Timing.BLOCKING and both))


def messages_of(loop: Do, scope: Scope) -> tuple[LoopMessage, ...] | NotOnlyMessages:
    """The messages of an iteration, in their order."""
    reader = _Reader(loop, scope)
    odd = reader.read(loop.body, _Path({}, ()))
    return odd or tuple(reader.found)


class _Reader:
    def __init__(self, loop: Do, scope: Scope) -> None:
        self.loop = loop
        self.scope = scope
        self.found: list[LoopMessage] = []
        self.assigned = _assigned(loop.body)

    def read(self, nodes: tuple[Node, ...], path: _Path) -> NotOnlyMessages | None:
        for node in nodes:
            odd = self._node(node, path)
            if odd is not None:
                return odd
        left = [name for name, times in path.counted.items() if times]
        return (
            NotOnlyMessages(f"{left[0]} does not only count messages", self.loop.head)
            if left
            else None
        )

    def _node(self, node: Node, path: _Path) -> NotOnlyMessages | None:
        match node:
            case Leaf(what=Assign() as assign):
                return self._assign(node, assign, path)
            case Leaf(what=Call() as call):
                return self._call(node, call, path)
            case Leaf(what=Guarded(condition=condition, action=Jump(kind=JumpKind.CYCLE) as jump)):
                if jump.construct not in (None, self.loop.head.name):
                    return NotOnlyMessages("CYCLE of another loop", node)
                if any(path.counted.values()):
                    return NotOnlyMessages("a request is counted for a skipped message", node)
                if path.inside:
                    return NotOnlyMessages("a branch skips the statements after it", node)
                return self._under(Op(".not.", (condition,)), node, path)
            case Leaf(what=Guarded(condition=condition, action=Call() as call)):
                inner = replace(path, counted=dict(path.counted))
                return self._under(condition, node, inner) or self._call(node, call, inner)
            case Leaf(what=Plain("continue")):
                return None
            case Branch(kind="if", arms=(arm,)) if isinstance(arm.head.what, ArmHead):
                (chosen,) = arm.head.what.exprs
                inner = _Path(dict(path.known), path.conditions, inside=True)
                if not isinstance(chosen, Lit | Ref | Component | Op):
                    return NotOnlyMessages("a condition is not understood", arm.head)
                odd = self._under(chosen, arm.head, inner) or self.read(arm.body, inner)
                for name in _assigned(arm.body):  # there, and perhaps not
                    path.known.pop(name, None)
                return odd
        leaf = next(iter(leaves(node)))
        return NotOnlyMessages("a statement of the loop does more than exchange messages", leaf)

    def _under(self, condition: Expr, leaf: Leaf, path: _Path) -> NotOnlyMessages | None:
        written = self._written(condition, path)
        if written is None:
            return NotOnlyMessages(f"a condition {_VARIES}", leaf)
        path.conditions = (*path.conditions, written)
        return None

    def _assign(self, leaf: Leaf, assign: Assign, path: _Path) -> NotOnlyMessages | None:
        target = assign.target
        if not isinstance(target, Ref) or target.args is not None or assign.pointer:
            return NotOnlyMessages("the loop does not only define scalars", leaf)
        if folded_expr(assign.value) == Op(
            "+", (Ref(target.name, target.name), Lit("integer", "1"))
        ):
            path.counted[target.name] = path.counted.get(target.name, 0) + 1
            path.known.pop(target.name, None)
            return None
        value = self._written(assign.value, path)
        if not _keeps(target, assign.value, self.scope):
            path.known.pop(target.name, None)  # what needs it is not understood
            return None
        if value is None:
            return NotOnlyMessages(f"{target.spelled} {_VARIES}", leaf)
        path.known[target.name] = value
        return None

    def _call(self, leaf: Leaf, call: Call, path: _Path) -> NotOnlyMessages | None:
        found = mpi_call(call, self.scope)
        if found is None or not _is_transfer(found):
            return NotOnlyMessages("a call of the loop does not start a transfer", leaf)
        counter: str | None = None
        request = found.args.get("request")
        if request is not None:
            counter = self._counter(request, path)
            written = request if counter is not None else self._written(request, path)
            if written is None:
                return NotOnlyMessages(f"the request {_VARIES}", leaf)
            if counter is not None:
                path.counted[counter] -= 1
            request = written
        exchange = found.procedure.exchange
        if exchange is None:
            return NotOnlyMessages("the buffers of the call are unknown", leaf)
        for envelope in envelopes_of(found) or ():
            out = envelope.way is Way.OUT
            names = (
                (exchange.send, exchange.send_count, exchange.send_type)
                if out
                else (exchange.receive, exchange.receive_count, exchange.receive_type)
            )
            given = [found.args.get(name or "") for name in names]
            given_here = [None if g is None else self._written(g, path) for g in given]
            peer, tag = self._written(envelope.peer, path), self._written(envelope.tag, path)
            buffer, count, datatype = given_here
            if None in (peer, tag, buffer, count, datatype):
                return NotOnlyMessages(f"an argument {_VARIES}", leaf)
            assert peer is not None
            assert tag is not None
            assert buffer is not None
            assert count is not None
            assert datatype is not None
            known = Envelope(envelope.way, peer, tag, envelope.communicator)
            self.found.append(
                LoopMessage(
                    leaf,
                    found,
                    self.loop,
                    known,
                    buffer,
                    count,
                    datatype,
                    request,
                    counter,
                    path.conditions,
                )
            )
        return None

    def _counter(self, request: Expr, path: _Path) -> str | None:
        """The variable that was incremented once for this request."""
        match request:
            case Ref(args=(Ref(name=name, args=None),)) if path.counted.get(name) == 1:
                return name
        return None

    def _written(self, expr: Expr, path: _Path) -> Expr | None:
        """An expression with the values that the loop has computed substituted; None: it depends on
        more."""
        result = substituted(expr, path.known)
        if names_in(result) & self.assigned:
            return None
        assert not isinstance(result, Section | Keyword)
        return result  # type: ignore[return-value]


def _assigned(nodes: tuple[Node, ...]) -> frozenset[str]:
    """The scalars that statements assign to."""
    found = (leaf.what for node in nodes for leaf in leaves(node))
    targets = (what.target for what in found if isinstance(what, Assign))
    return frozenset(target.name for target in targets if isinstance(target, Ref))


def _keeps(target: Ref, value: Expr, scope: Scope) -> bool:
    """Whether an assignment stores the value without conversion: the variable has the same type."""
    symbol = scope.lookup(target.name)
    if symbol is None or symbol.type is None:
        return False
    if symbol.type.base == "logical":
        return True  # of whatever kind
    default = element_bytes(symbol, scope) == 4
    return symbol.type.base == "integer" and default and is_integer(value, scope)


def substituted(expr: Arg, known: Known) -> Arg:
    """An expression with expressions substituted for variables."""
    match expr:
        case Ref(name=name, args=None) if name in known:
            return known[name]
        case Ref(args=tuple(args)):
            return replace(expr, args=tuple(substituted(a, known) for a in args))
        case Component(base=base, args=args):
            inner = substituted(base, known)
            listed = None if args is None else tuple(substituted(a, known) for a in args)
            return replace(expr, base=inner, args=listed)  # type: ignore[arg-type]
        case Op(operands=operands):
            parts = tuple(substituted(o, known) for o in operands)
            return replace(expr, operands=parts)  # type: ignore[arg-type]
        case Section(lower=lower, upper=upper, stride=stride):
            ends = (None if p is None else substituted(p, known) for p in (lower, upper, stride))
            return Section(*ends)  # type: ignore[arg-type]
        case Keyword(value=value):
            return replace(expr, value=substituted(value, known))  # type: ignore[arg-type]
    return expr


def replaced(expr: Arg, old: Expr, new: Expr) -> Arg:
    """An expression with every part that equals ``old`` (folded) replaced."""
    if not isinstance(expr, Section | Keyword) and folded_expr(expr) == old:  # type: ignore[arg-type]
        return new
    match expr:
        case Ref(args=tuple(args)):
            return replace(expr, args=tuple(replaced(a, old, new) for a in args))
        case Component(base=base, args=args):
            inner = replaced(base, old, new)
            listed = None if args is None else tuple(replaced(a, old, new) for a in args)
            return replace(expr, base=inner, args=listed)  # type: ignore[arg-type]
        case Op(operands=operands):
            parts = tuple(replaced(o, old, new) for o in operands)
            return replace(expr, operands=parts)  # type: ignore[arg-type]
        case Section(lower=lower, upper=upper, stride=stride):
            ends = (None if p is None else replaced(p, old, new) for p in (lower, upper, stride))
            return Section(*ends)  # type: ignore[arg-type]
    return expr
