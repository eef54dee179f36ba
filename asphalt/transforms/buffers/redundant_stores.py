"""Redundant store elimination: stores to a receive buffer that the receive overwrites are dropped.

Before::

    do i = 1, n
      incoming(i, west) = 0
    end do
    call MPI_Irecv(incoming(1, west), n, MPI_REAL, ...)

After::

    call MPI_Irecv(incoming(1, west), n, MPI_REAL, ...)

The stores take time, and keep the receive from being posted earlier (Danalis et al., ICS 2009,
section 5, "preliminary transformations").  Conditions:

- The receive defines every element that they define: no message is shorter than its count, and none
  comes from MPI_PROC_NULL, which leaves the buffer as it was (``full_messages``).
- Nothing reads these elements between the stores and the receive.  MPI forbids accesses until the
  receive is complete (MPI-4.0 section 3.7.2), and stores while a send of these elements is in
  progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.side_effect_free import is_condition, only_defines_its_variable
from asphalt.analysis.data_flow.temporaries import is_dead_after, is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.analysis.effects.array_flow import may_minus
from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.memory.accesses import ALIASED, Mode
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.messages.buffer_flow import BufferFlow
from asphalt.analysis.messages.full_messages import FullMessages
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import Store, library_row, receives
from asphalt.analysis.mpi.mentions import mpi_mentions
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.names.scopes import Symbol
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.verdicts.store_codes import EVALUATED, READ, UNFILLED
from asphalt.analysis.verdicts.verdict import Code, Mark, Refused
from asphalt.config.passes import Pass
from asphalt.ir.expr import Arg, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import ArmHead, Assign, Guarded
from asphalt.ir.tree import Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.comments import NOT_STORED, in_front
from asphalt.transforms.rewriting.edit import rewrite_list, why_not_removable
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_CANCEL = "mpi_cancel"
_FORBIDDEN = frozenset({"pointer", "volatile", "codimension"})


@record
class Stored(Step):
    """The stores of the statement that ``path`` leads to; ``receive``: the line and the procedure
    of the last call that defines the same elements, of ``buffer``."""

    path: tuple[int, ...]
    buffer: str
    receive: tuple[int, str]


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The stores of a unit that receives overwrite: a step for each statement or nest, or why it
    cannot be dropped."""
    return tuple(found for found, _ in facts.once(_judged))


def refusals(facts: UnitFacts) -> tuple[tuple[Refused, str], ...]:
    """Why other stores in front of receives cannot be dropped, each with the MPI procedure that
    receives."""
    return tuple((one, by) for one, by in facts.once(_judged) if isinstance(one, Refused))


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit without the stores of one statement or nest."""
    assert isinstance(step, Stored)
    position = step.path[-1]

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        node, before, after = nodes[position], nodes[:position], nodes[position + 1 :]
        make = maker_at(node, facts.located.form, facts.eol)
        told = make.comment(f"{NOT_STORED} {step.buffer} that {step.receive[1]} overwrites")
        own = next(leaves(node)).lead
        lead = own if told in own else (*own, told)
        return (*before, in_front(after[0], lead), *after[1:])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, step.path, change))


@record
class _List:
    """A list of statements: the path to it, what is executed behind it whenever its end is
    reached, and the conditions under which it is."""

    path: tuple[int, ...]
    nodes: tuple[Node, ...]
    behind: tuple[Node, ...] = ()
    conditions: tuple[Arg, ...] = ()


def _lists(own: _List) -> Iterator[_List]:
    yield own
    for number, node in enumerate(own.nodes):
        match node:
            case Do(body=body):
                yield from _lists(_List((*own.path, number), body))
            case Branch(kind="if", arms=arms):
                behind = (*own.nodes[number + 1 :], *own.behind)
                for which, arm in enumerate(arms):
                    what = arm.head.what
                    holds = which == 0 and isinstance(what, ArmHead) and len(what.exprs) == 1
                    path, conditions = (*own.path, number, which), list[Arg](own.conditions)
                    if holds and isinstance(what, ArmHead):
                        conditions += what.exprs
                    yield from _lists(_List(path, arm.body, behind, tuple(conditions)))
            case Branch(kind="select", arms=arms):
                behind = (*own.nodes[number + 1 :], *own.behind)
                for which, arm in enumerate(arms):
                    path = (*own.path, number, which)
                    yield from _lists(_List(path, arm.body, behind, own.conditions))


def _received(facts: UnitFacts) -> frozenset[str]:
    """The arrays that receives of a unit have for their buffers."""
    messages = facts.once(Messages)
    return frozenset(
        actual.name
        for _, call in messages.own_calls()
        if receives(call.procedure)
        for transfer in library_row(call.procedure).transfers
        if transfer.writes and isinstance(actual := call.args.get(transfer.argument), Ref)
    )


def _judged(facts: UnitFacts) -> tuple[tuple[Found, str], ...]:
    return _Stores(facts).found() if _received(facts) else ()


class _Stores:
    """The stores of one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.scope = facts.scope
        self.messages = facts.once(Messages)
        self.order = facts.once(Independence.of)
        self.full = FullMessages(facts.scope)
        self.received = _received(facts)
        self.said = TransferDirectives(facts.located)
        self._flows: dict[str, BufferFlow] = {}

    def found(self) -> tuple[tuple[Found, str], ...]:
        """A step, or a refusal, for each statement that stores to a buffer before a receive, with
        the procedure that receives."""
        found = []
        for own in _lists(_List((), self.facts.unit.body)):
            for position, node in enumerate(own.nodes):
                buffer = self._stored(node)
                one = None if buffer is None else self._judged(own, position, buffer)
                if one is not None and buffer is not None:
                    found.append((one, self._receiving(buffer)))
        return tuple(found)

    def _receiving(self, buffer: str) -> str:
        """The procedure by which the unit first receives into a buffer."""
        calls = (c for n in self.facts.unit.body for _, c in self._own_receives(n, buffer))
        return next(calls).procedure.spelled

    def _stored(self, node: Node) -> str | None:
        """The buffer that a statement or a nest stores to; None: it does something else, too."""
        if not isinstance(node, Do | Leaf):
            return None
        names: set[str] = set()
        loops = [n for n in _loops(node) if loop_variable(n) is not None]
        ends = {id(loop.end) for loop in loops}
        heads = {id(loop.head) for loop in loops}
        for leaf in leaves(node):
            if id(leaf) in ends or id(leaf) in heads:
                continue
            what = leaf.action
            if not isinstance(what, Assign) or not isinstance(what.target, Ref):
                return None
            names.add(what.target.name)
        name = names.pop() if len(names) == 1 else None
        symbol = None if name is None else self.scope.lookup(name)
        if name not in self.received or symbol is None or not symbol.dims:
            return None
        plain = storage_of(name, self.scope) != ALIASED and not symbol.attrs & _FORBIDDEN
        return name if plain and name not in self.scope.shadowed else None

    def _judged(self, own: _List, position: int, buffer: str) -> Found | None:
        """What becomes of the stores at a position; None: no receive comes behind them
        that is not skipped on request."""
        node = own.nodes[position]
        first = next(leaves(node))
        conditions: tuple[Arg, ...] = own.conditions
        if isinstance(node, Leaf) and isinstance(node.what, Guarded):
            conditions = (*conditions, node.what.condition)
            node = replace(node, what=node.what.action)
        conditions = tuple(c for c in conditions if is_condition(c, self.scope))
        flow = self._flow(buffer)
        changing = self.facts.footprint(own.nodes[position]).written()
        behind: list[Node] = []
        last: tuple[Leaf, MpiCall] | None = None
        rest = (*own.nodes[position + 1 :], *own.behind)
        receives = (leaf for n in rest for leaf, _ in self._own_receives(n, buffer))
        if all(self.said.skipped(leaf) is not None for leaf in receives):
            return None
        for following in rest:
            own_receives = self._own_receives(following, buffer)
            changing |= self.facts.footprint(following).written()
            behind += self._under(following, conditions, changing)
            for leaf, call in own_receives:
                action = leaf.call
                if action is not None and not flow.moves(action):
                    return self._unfilled(first, buffer, leaf, call)
            unseen = self._unseen(following, flow)
            if unseen is not None:
                return self._refused(READ, first, unseen, following)
            touched = [a for a in self.facts.footprint(following).of(flow.storage)
                       if a.mode is not Mode.INQUIRE]  # fmt: skip
            if not touched:
                continue
            done = flow.of(tuple(behind), changing, first)
            mine = flow.stored((node,), changing, first)
            if done is None or mine is None:
                return None
            if not _are_apart(mine, done.exposed):
                if not own_receives:
                    return None
                message = f"line {line_of(touched[0].leaf)} may read {buffer}"
                return self._refused(READ, first, message, following)
            last = own_receives[-1] if own_receives else last
            if may_minus(mine, done.surely).is_empty():
                if last is None:
                    return None
                kept = self._kept(own, position, node, buffer)
                return kept or self._step(own, position, buffer, last)
        return None if last is None else self._unfilled(first, buffer, *last)

    def _flow(self, buffer: str) -> BufferFlow:
        if buffer not in self._flows:
            self._flows[buffer] = BufferFlow(self.facts, self.messages, self.full, buffer)
        return self._flows[buffer]

    def _own_receives(self, node: Node, buffer: str) -> list[tuple[Leaf, MpiCall]]:
        """The receives into a buffer in a statement."""
        return [
            (leaf, call)
            for leaf, call in self.messages.calls(node)
            if receives(call.procedure)
            and any(
                t.writes and isinstance(a := call.args.get(t.argument), Ref) and a.name == buffer
                for t in library_row(call.procedure).transfers
            )
        ]

    def _under(
        self, node: Node, conditions: tuple[Arg, ...], changing: frozenset[str]
    ) -> tuple[Node, ...]:
        """What is executed of a statement where some conditions hold that nothing has changed."""
        held = [
            c
            for c in conditions
            if not any(storage_of(name, self.scope) in changing for name in names_in(c))
        ]
        match node:
            case Leaf(what=Guarded(condition=condition, action=action, kind="if")):
                return (replace(node, what=action),) if condition in held else (node,)
            case Branch(kind="if", arms=(arm, *_)) if isinstance(arm.head.what, ArmHead):
                return arm.body if arm.head.what.exprs[:1] in [(c,) for c in held] else (node,)
        return (node,)

    def _unseen(self, node: Node, flow: BufferFlow) -> str | None:
        """Why a statement may read the buffer, although it does not show; None: it does not."""
        bound = self.order.place.bound(node)
        if bound is not None:
            return bound
        for leaf, call in self.messages.calls(node):
            where = f"line {line_of(leaf)}"
            action = leaf.call
            if action is not None and flow.moves(action):
                continue
            buffers = self.messages.buffers(leaf, call)
            if buffers is None or any(access.storage == flow.storage for access in buffers):
                return f"{where}: {call.procedure.spelled} may read {flow.name}"
            types = (a for p, a in call.bound() if p.kind == "DATATYPE")
            if any(datatype_of(kind, self.scope) is None for kind in types):
                return f"{where}: its datatype may reach to {flow.name}"
        return None

    def _kept(self, own: _List, position: int, node: Node, buffer: str) -> Refused | None:
        """Why stores that are overwritten stay all the same."""
        original = own.nodes[position]
        first = next(leaves(original))
        symbol = self.scope.lookup(buffer)
        assert symbol is not None
        noticed = self._noticed(original, node, symbol)
        if noticed is not None:
            return self._refused(EVALUATED, first, noticed, original)
        following = own.nodes[position + 1] if position + 1 < len(own.nodes) else None
        stays = self.order.place.bound(original) or why_not_removable(original, following)
        if stays is not None:
            return self._refused(EVALUATED, first, stays, original)
        for mention in mpi_mentions(self.scope.scopes):
            procedure = table().get(mention.operation)
            stores = set() if procedure is None else {
                a.store for a in library_row(procedure).accesses
            }  # fmt: skip
            if procedure is None or Store.WINDOW in stores:
                message = f"{mention.operation}: other ranks may read {buffer}"
                return self._refused(READ, first, message, original)
            if procedure.name == _CANCEL:
                message = "a receive may be cancelled"
                return self._refused(UNFILLED, first, message, original)
        if not is_closed(self.facts.effects):
            message = "asphalt does not see the whole program: a message may be shorter"
            return self._refused(UNFILLED, first, message, original)
        return None

    def _noticed(self, original: Node, node: Node, symbol: Symbol) -> str | None:
        """Why somebody may notice that a statement or nest is not executed."""
        for leaf in leaves(original):
            loops = [loop for loop in _loops(original) if loop.end is leaf]
            if not loops and not only_defines_its_variable(leaf.what, self.scope):
                return f"line {line_of(leaf)}: evaluating it may have a visible effect"
        if self.facts.footprint(original).effects:
            effect = self.facts.footprint(original).effects[0]
            return f"line {line_of(effect.leaf)}: {effect.kind.value} ({effect.detail})"
        match node:
            case Leaf(what=Assign(target=Ref(args=None), value=value)) if (
                "allocatable" in symbol.attrs and not is_scalar(value, self.scope)
            ):
                return f"line {line_of(node)}: {symbol.spelled} may be allocated"
        for loop in _loops(original):
            name = loop_variable(loop)
            if name is None or not is_local(name, self.facts):
                return f"line {line_of(loop.head)}: others may see the variable of the loop"
            if not is_dead_after(name, original, self.facts):
                return f"line {line_of(loop.head)}: {name} is read behind the loop"
        return None

    def _step(
        self, own: _List, position: int, buffer: str, receive: tuple[Leaf, MpiCall]
    ) -> Stored:
        first = next(leaves(own.nodes[position]))
        leaf, call = receive
        where = f"{call.procedure.spelled} in {self.facts.at(leaf)}"
        return Stored(
            line_of(first),
            f"the stores to {buffer} in {self.facts.at(first)} are dropped",
            (
                f"{where} defines all that they define: no message can be shorter",
                "nothing reads it between, and nothing is called to evaluate it",
            ),
            (*own.path, position),
            _spelled(own.nodes[position], buffer),
            (line_of(leaf), call.procedure.spelled),
        )

    def _unfilled(self, first: Leaf, buffer: str, leaf: Leaf, call: MpiCall) -> Refused | None:
        """Why a receive may not overwrite all stores; None: it is skipped on request."""
        if self.said.skipped(leaf) is not None:
            return None
        flow = self._flow(buffer)
        why = self.full.why_not(call, from_a_rank=flow.is_read_from_ranks)
        where = f"the receive of line {line_of(leaf)} may leave some of {buffer} as it is"
        if why is None:
            return self._refused(UNFILLED, first, f"{where}: it may get less", leaf)
        reason, send = why
        found = self._refused(UNFILLED, first, f"{where}: {reason}", leaf)
        if send is None:
            return found
        witness = f"{send.file}:{send.first}"
        return replace(
            found, witness=witness, marks=(*found.marks, Mark(send, "definition", reason))
        )

    @staticmethod
    def _refused(code: Code, first: Leaf, message: str, place: Node) -> Refused:
        span: Span | None = next(leaves(place)).span
        marks = () if span is None else (Mark(span, "offending", message),)
        witness = None if span is None else f"{span.file}:{span.first}"
        return Refused(code, message, first.span, witness, marks)


def _loops(node: Node) -> Iterator[Do]:
    if isinstance(node, Do):
        yield node
        for child in node.body:
            yield from _loops(child)


def _are_apart(one: Elements, other: Elements) -> bool:
    """Whether two sets certainly have no common element."""
    try:
        return one.intersection(other).is_empty()
    except UndecidedError:
        return False


def _spelled(node: Node, buffer: str) -> str:
    """A buffer as a statement spells it."""
    for leaf in leaves(node):
        what = leaf.action
        if isinstance(what, Assign) and isinstance(what.target, Ref) and what.target.name == buffer:
            return what.target.spelled
    return buffer


TRANSFORMATION = Transformation(
    "redundant store elimination",
    Pass.STORES,
    Phase.STARTS,
    "Stores to a receive buffer are dropped where the receive defines the same elements.",
    check,
    apply,
    in_place=True,
)
