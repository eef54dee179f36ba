"""Statements that are whole exchanges on all ranks: what one of them sends is received in the same
execution of the same statement.

Such a statement is a call of MPI_SENDRECV, or of a procedure of the program that sends and receives
and completes all that it starts.  The proof counts.  No other call of the program has its tags, and
no receive takes any source or any tag.  All ranks execute the statement equally often.  In each
execution a rank does the same sends and receives: the partners, tags and communicators, and the
conditions under which it does them, depend on nothing that changes between two messages of the
program (``lasting_values``).  So a rank sends the same number of messages to another one each time,
and that one receives the same number each time.  Over the whole program all that is sent is
received (MPI-4.0 section 11.2.2), so the two numbers are equal; and messages do not overtake each
other (3.5): those of the n-th execution are received in the n-th execution.

A whole exchange is *idempotent* if it writes nothing that it reads from outside.  Executed again at
once on all ranks, it sends the same values, and writes what is there already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.control_flow.graph import Point
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import ALIASED, Access, EffectKind, Mode
from asphalt.analysis.messages.messages import Messages, Stage, envelopes_of, stage_of
from asphalt.analysis.messages.shared_memory import may_share_memory
from asphalt.analysis.messages.sole_pair import SolePair
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.repetition.lasting_values import LastingValues
from asphalt.analysis.repetition.message_sections import BOTH_WAYS, accesses_of
from asphalt.analysis.repetition.observed_order import ObservedOrder
from asphalt.analysis.repetition.started_exchanges import StartedExchanges, StartedPair
from asphalt.analysis.uniformity.uniformity import Level
from asphalt.config.assumptions import UNIFORM
from asphalt.ir.expr import Arg, Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Call, DoHead, Guarded, Jump, Plain, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

_TRAFFIC = frozenset({Store.INCOMING, Store.OUTGOING})


@record
class WholeExchange:
    """A statement that is a whole exchange.

    ``unit``: the facts of the procedure with its messages; ``calls``: these, in source order.
    ``assumed``: the assumptions that the proof needs.
    """

    leaf: Leaf
    unit: UnitFacts
    calls: tuple[tuple[Leaf, MpiCall], ...]
    assumed: tuple[str, ...] = ()


def exchanges_messages(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether a statement is a call that may send or receive messages between two ranks, and does
    not only start, complete or ask for operations."""
    if not isinstance(leaf.what, Call):
        return False
    call = facts.once(Messages).call(leaf)
    if call is not None:
        return call.procedure.name == BOTH_WAYS
    return any(
        effect.kind is EffectKind.MPI and moves(effect.detail)
        for effect in facts.footprint(leaf).effects
    )


def moves(operation: str) -> bool:
    """Whether an MPI procedure sends or receives between two ranks, or is not known."""
    row = procedure(operation)
    if row is None:
        return True
    library = library_row(row)
    return any(a.store in _TRAFFIC for a in (*library.accesses, *library.prepared))


class WholeExchanges:
    """The exchanges of one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.order = facts.once(Independence.of)
        self.messages = facts.once(Messages)
        self._known: dict[int, tuple[Leaf, WholeExchange | str]] = {}
        self._called: dict[int, UnitFacts] = {}
        self._programs: list[LastingValues | str] = []
        self._sole: dict[int, SolePair] = {}
        self._orders: ObservedOrder | None = None

    def of(self, leaf: Leaf) -> WholeExchange | str:
        """The exchange that a statement is, or why it is not proved to be a whole one."""
        if id(leaf) not in self._known:
            self._known[id(leaf)] = leaf, self._of(leaf)
        return self._known[id(leaf)][1]

    def of_pair(self, pair: StartedPair) -> WholeExchange | str:
        """The exchange that a send and a receive are that are started one after the other, or why
        they are not proved to be a whole one."""
        seen = self.why_seen()
        if seen is not None:
            return seen
        calls = ((pair.send, pair.sent), (pair.receive, pair.received))
        return self._judged(self._alone(pair.wait, calls))

    def why_seen(self) -> str | None:
        """Why the program may see when messages are sent or received; None: it does not."""
        if may_share_memory(self.facts.scope.program):
            return "ranks may share memory, and a message may order what they do there"
        return self.order.calls.earlier_sends

    def why_ordered(self, first: Leaf, last: Leaf) -> str | None:
        """What may be seen in another order if there are fewer messages from one exchange to
        another one of the unit; None: nothing."""
        lasting = self._program()
        if isinstance(lasting, str):
            return lasting
        if self._orders is None:
            self._orders = ObservedOrder(lasting.main)
        if lasting.main.unit is not self.facts.unit:
            return self._orders.why_ordered(lasting.traffic, lasting.traffic)
        graph = self.facts.reaching.graph
        points = graph.action(first), graph.action(last)
        if points[0] is None or points[1] is None:
            return "it is not executed"
        return self._orders.why_ordered(frozenset({points[0]}), frozenset({points[1]}))

    def _of(self, leaf: Leaf) -> WholeExchange | str:
        seen = self.why_seen()
        if seen is not None:
            return seen
        fixed = self.order.place.fixed(leaf)
        if fixed is not None:
            return fixed
        call = self.messages.call(leaf)
        if call is None:
            return self._judged(self._exchange(leaf))
        return self._judged(self._alone(leaf, ((leaf, call),)))

    def _judged(self, found: WholeExchange | str) -> WholeExchange | str:
        """The exchange, if all ranks reach it together, each time with the same partners."""
        if isinstance(found, str):
            return found
        why = self._why_partners_change(found)
        if why is not None:
            return why
        assumed: set[str] = set()
        for point, comm in self._entries(found):
            assert self.facts.uniformity is not None
            judged = self.facts.uniformity.reached(found.unit.scope, point, comm)
            if judged.level is not Level.UNIFORM:
                return f"it is not proved that all ranks reach it together ({judged.evidence})"
            others = [a for a in judged.assumptions if a.partition(":")[0] != UNIFORM.word]
            if others:
                return f"all ranks reach it together only with {', '.join(others)}"
            assumed |= set(judged.assumptions)
        return replace(found, assumed=tuple(sorted(assumed)))

    def _alone(self, leaf: Leaf, calls: tuple[tuple[Leaf, MpiCall], ...]) -> WholeExchange | str:
        """A call of MPI_SENDRECV, or a send and a receive that are started and completed together,
        with those of the unit that may have its tags: all of them have the same partners and tags.
        """
        started = self.facts.once(StartedExchanges)
        tags = frozenset[int | None]().union(*(self._tags(call, self.facts) for _, call in calls))
        given = {e.way: e for _, call in calls for e in envelopes_of(call) or ()}
        own = [
            (other, one)
            for other, one in self.messages.own_calls()
            if (one.procedure.name == BOTH_WAYS or started.is_paired(other))
            and tags & self._tags(one, self.facts)
        ]
        for other, one in own:
            if not isinstance(other.what, Call):
                return f"{one.procedure.spelled} of {self.facts.at(other)} has a condition"
            if any(envelope != given.get(envelope.way) for envelope in envelopes_of(one) or ()):
                where = self.facts.at(other)
                return f"{one.procedure.spelled} of {where} has the same tag, and other partners"
        return self._sole_of(WholeExchange(leaf, self.facts, tuple(own)))

    def _exchange(self, leaf: Leaf) -> WholeExchange | str:
        """A call of a procedure that sends and receives."""
        target = None if leaf.call is None else invoked(leaf.call, self.facts.scope)
        if target is None:
            return "the called procedure is not known"
        unit = self._facts_of(target[0])
        for effect in self.facts.footprint(leaf).effects:
            if effect.kind is not EffectKind.MPI:
                return effect.described
        why = _why_not_plain(unit)
        if why is not None:
            return f"{unit.unit.name}: {why}"
        calls = tuple((x, c) for x, c in unit.once(Messages).own_calls() if envelopes_of(c))
        return self._sole_of(WholeExchange(leaf, unit, calls))

    def _facts_of(self, target: Located) -> UnitFacts:
        """The facts of another unit, in the program as it is now."""
        own = self.facts
        key = id(target.unit)
        if key not in self._called:
            self._called[key] = UnitFacts(
                target, own.effects, own.eol, own.uniformity, own.accepted
            )
        return self._called[key]

    def _sole_of(self, found: WholeExchange) -> WholeExchange | str:
        """The exchange, if no other call of the program may have its tags."""
        if self.facts.uniformity is None:
            return "the ranks that reach it are unknown"
        if id(found.unit) not in self._sole:
            self._sole[id(found.unit)] = SolePair(found.unit)
        tags = [envelope.tag for _, call in found.calls for envelope in envelopes_of(call) or ()]
        own = [leaf for leaf, _ in found.calls]
        return self._sole[id(found.unit)].why_not(tags, own) or found

    @staticmethod
    def _tags(call: MpiCall, facts: UnitFacts) -> frozenset[int | None]:
        plain = facts.scope_of_these_sizes
        return frozenset(constant(e.tag, plain) for e in envelopes_of(call) or ())

    def _why_partners_change(self, found: WholeExchange) -> str | None:
        """Why a rank may not do the same sends and receives in each execution."""
        lasting = self._program()
        if isinstance(lasting, str):
            return lasting
        graph = found.unit.reaching.graph
        for leaf, call in found.calls:
            point = graph.action(leaf)
            if point is None:
                return "a message is never sent"
            decisive: list[tuple[Expr, frozenset[str]]] = []
            counted: frozenset[str] = frozenset()
            if found.unit.unit is not self.facts.unit:  # its own conditions are uniform
                decisive += _conditions(graph.points[point])
                counted = _loop_variables(graph.points[point].around)
            for envelope in envelopes_of(call) or ():
                exprs = (envelope.peer, envelope.tag, envelope.communicator)
                decisive += ((expr, counted) for expr in exprs)
            for expr, known in decisive:
                why = lasting.why_changing(expr, found.unit, known)
                if why is not None:
                    return f"its messages may differ from those before: {why}"
        return None

    def _program(self) -> LastingValues | str:
        if not self._programs:
            mains = self.facts.scope.program.main_programs()
            if len(mains) != 1:
                return "it is not known which main program it belongs to"
            own = mains[0].unit is self.facts.unit
            main = self.facts if own else self._facts_of(mains[0])
            self._programs.append(LastingValues(main))
        return self._programs[0]

    def _entries(self, found: WholeExchange) -> Iterator[tuple[Leaf, Expr]]:
        """The statements that all ranks have to reach together, with the communicators."""
        called = found.unit.unit is not self.facts.unit
        heads = (next(leaves(node)) for node in found.unit.unit.body)
        unconditional = (x for x in heads if not isinstance(x.what, Guarded))
        first = next(unconditional, found.calls[0][0])
        seen: set[tuple[int, Expr]] = set()
        for leaf, call in found.calls:
            for envelope in envelopes_of(call) or ():
                at = first if called else leaf
                if (id(at), envelope.communicator) not in seen:
                    seen.add((id(at), envelope.communicator))
                    yield at, envelope.communicator


def _why_not_plain(unit: UnitFacts) -> str | None:
    """Why a procedure does more than an exchange, or may leave a part of it to others."""
    messages, place = unit.once(Messages), unit.once(Independence.of).place
    for node in unit.unit.body:
        fixed = place.fixed(node) if any(messages.calls(node)) else None
        if fixed is not None:
            return fixed
    for leaf in (x for node in unit.unit.body for x in leaves(node)):
        where = unit.at(leaf)
        action = leaf.action
        if isinstance(action, Jump):
            return f"{where} may leave its place"
        if isinstance(action, Plain) and action.keyword == "entry":
            return f"{where} is another entry"
        call = messages.call(leaf)
        if call is None:
            effects = unit.footprint(leaf).effects if leaf.call is not None else ()
            if any(effect.kind is EffectKind.MPI for effect in effects):
                return f"{where} calls a procedure with messages"
            continue
        stage = stage_of(call)
        if stage is Stage.NOTHING:
            continue
        if call.procedure.collective or call.binding == "runtime":
            return f"{call.procedure.spelled} of {where} is no message between two ranks"
        if stage is Stage.OTHER:
            return f"{call.procedure.spelled} of {where}"
        if stage is Stage.START and messages.completion(leaf) is None:
            return f"it is not known what completes {call.procedure.spelled} of {where}"
        if stage is Stage.COMPLETE and messages.completed_by(leaf) is None:
            return f"it is not known what {call.procedure.spelled} of {where} completes"
    if any(isinstance(node, Block) for node in unit.unit.body):
        return "it has a construct that asphalt does not look into"
    return None


def _conditions(point: Point) -> Iterator[tuple[Expr, frozenset[str]]]:
    """The expressions that decide whether, and how often, a statement is executed, each with the
    variables of the counted loops around it: in their own bounds these have other values."""
    for depth, node in enumerate(point.around):
        heads = (arm.head for arm in node.arms) if isinstance(node, Branch) else ()
        for head in (node.head,) if isinstance(node, Do) else heads:
            counted = _loop_variables(point.around[:depth])
            yield from ((expr, counted) for expr in _deciding(head.what))
    if point.leaf is not None:
        counted = _loop_variables(point.around)
        yield from ((expr, counted) for expr in _deciding(point.leaf.what))


def _deciding(what: What) -> Iterator[Expr]:
    """The expressions in the head of a construct, or in a one-line IF."""
    found: tuple[Arg | None, ...] = ()
    match what:
        case Guarded(condition=condition):
            found = (condition,)
        case ArmHead(exprs=exprs):
            found = exprs
        case DoHead(first=first, last=last, step=step, condition=condition):
            found = (first, last, step, condition)
    yield from (one for one in found if isinstance(one, Expr))


def _loop_variables(around: Sequence[Node]) -> frozenset[str]:
    """The variables of the counted loops among some constructs."""
    heads = (node.head.what for node in around if isinstance(node, Do))
    return frozenset(
        head.var.name
        for head in heads
        if isinstance(head, DoHead) and head.kind == "count" and isinstance(head.var, Ref)
    )


def why_not_idempotent(found: WholeExchange) -> str | frozenset[str]:
    """Why an exchange may write what it reads from outside; or the named constants that must be
    positive for it not to do so."""
    unit = found.unit
    order = unit.once(Independence.of)
    nodes: tuple[Node, ...] = (found.leaf,)
    if found.leaf not in {leaf for leaf, _ in found.calls}:
        nodes = unit.unit.body
    known: list[tuple[Node, tuple[Access, ...]]] = []
    for node in nodes:
        accesses = accesses_of(node, order)
        if accesses is None:
            return f"line {next(leaves(node)).line}: unknown buffers"
        known.append((node, tuple(a for a in accesses if not _is_private(a, found))))
    needed: frozenset[str] = frozenset()
    for node, accesses in known:
        reads = tuple(a for a in accesses if a.mode is Mode.READ)
        for other, others in known:
            writes = tuple(a for a in others if a.writes)
            for conflict in order.conflicting(node, other, reads, writes):
                sizes = conflict.sizes(order.is_positive)
                if sizes is None:
                    return f"it changes what it sends: {conflict.reason}"
                needed |= sizes
    return needed


def _is_private(access: Access, found: WholeExchange) -> bool:
    """Whether an access is to a variable that each execution of a called procedure has anew."""
    if found.leaf in {leaf for leaf, _ in found.calls} or access.storage == ALIASED:
        return False
    symbol = found.unit.scope.lookup(access.storage)
    own = symbol is not None and symbol.origin is Origin.LOCAL
    return own and symbol is not None and "save" not in symbol.attrs and symbol.initial is None
