"""Whether statements that only start, or only complete, operations in called procedures commute
with computation.

A completion that comes later leaves its operations in progress for longer, and so does a start that
comes earlier.  Until they are complete, nothing else may access the buffers, and no copy of a
buffer may be passed to a procedure and written back (F2018 15.5.2.4).  So the computation may not
even name them.  No other call of MPI is passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.data_flow.passed_readings import why_reading_stays
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import Access, Effect, EffectKind
from asphalt.analysis.memory.storage import evaluated_storages
from asphalt.analysis.messages.argument_origins import ArgumentOrigins
from asphalt.analysis.messages.called_transfers import (
    Part,
    StartedOperation,
    UnitRequests,
    lines_of,
)
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.request_starts import RequestStarts
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.ir.tree import Leaf, Node, leaves

_MOVED = frozenset({EffectKind.MPI, EffectKind.ASSUMED})
_PASSED = frozenset({EffectKind.ASSUMED, EffectKind.JUMP})


class CalledOrder:
    """Answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.order = facts.once(Independence.of)
        self.messages = facts.once(Messages)
        self.requests = facts.once(UnitRequests)
        self.starts = facts.once(RequestStarts)
        self.origins = facts.once(ArgumentOrigins)
        self._pending: dict[int, tuple[Node, tuple[Part, ...] | None]] = {}

    def commutes(self, moved: Node, other: Node) -> bool:
        """Whether computation and a neighbour that starts or completes operations may change
        places."""
        pending = self.pending(moved)
        if pending is None or self._why_bound(moved) or self._why_no_computation(other):
            return False
        return self._why_met(moved, other, pending) is None

    def why_not(self, moved: Node, other: Node, buffers: tuple[Part, ...] = ()) -> str | None:
        """Why computation and a neighbour that starts or completes operations may not change
        places; None: they may.

        What ``other`` has to do with the messages, at best with these ``buffers``, comes first.
        """
        pending = self.pending(moved)
        if pending is None:
            return self._why_unknown(moved)
        met = self._why_met(moved, other, tuple(dict.fromkeys((*buffers, *pending))))
        if met is not None:
            return met
        bound = self._why_bound(moved)
        return self._why_no_computation(other) if bound is None else f"it cannot move: {bound}"

    def _why_met(self, moved: Node, other: Node, pending: tuple[Part, ...]) -> str | None:
        """Which object keeps computation from changing places with such a neighbour."""
        mine, theirs = self._accesses(moved), self._accesses(other)
        objects = {a.object: a for a in theirs}
        for part in pending:
            for one, access in objects.items():
                if part.meets(one):
                    return _use(access)
        for b in theirs:
            if any(a.conflicts(b) for a in mine):
                return _use(b)
        named = set(objects)
        for leaf in leaves(other):
            for storage in self._named_in(leaf):
                if storage is None:
                    return f"line {line_of(leaf)} may name a buffer of the messages"
                if any(part.meets(storage) for part in pending):
                    return f"line {line_of(leaf)} names {_name(storage)}, which a message accesses"
                named.add(storage)
        if not self._outlive(moved) or self._differ_always(pending, named):
            return None
        where = f"line {line_of(next(leaves(moved)))}"
        return f"{where} may complete messages that an earlier call of the procedure has started"

    def _why_unknown(self, node: Node) -> str:
        """Why the buffers of operations are not known that a statement starts or completes."""
        for leaf in leaves(node):
            if self.requests.of(leaf) is None:
                return f"line {line_of(leaf)} does more in MPI than to start or complete messages"
        where = f"line {line_of(next(leaves(node)))}"
        done = self.requests.inside(node)
        if done is not None and done.starts and done.completes:
            return f"{where} starts messages, and completes others"
        if self.facts.effects.once(_moves_allocations):
            return "a MOVE_ALLOC of the program may give the memory of a buffer to another variable"
        return f"it is not known which messages {where} completes"

    def _outlive(self, node: Node) -> bool:
        """Whether a statement may complete operations that an earlier invocation of the unit has
        started."""
        done = self.requests.inside(node)
        return done is not None and any(map(self.starts.outlive, done.completes))

    def _differ_always(self, pending: Iterable[Part], objects: Iterable[str]) -> bool:
        """Whether buffers of any invocation of the unit differ from objects of this one."""
        buffers = [self.origins.of(part.object) for part in pending]
        others = [self.origins.of(one) for one in objects]
        return not any(
            mine is None or theirs is None or any(a.overlaps(b) for a in mine for b in theirs)
            for mine in buffers
            for theirs in others
        )

    def passes(self, work: Node, node: Node) -> bool:
        """Whether computation may move before a statement in front of it, whatever that is."""
        done = self.requests.inside(node)
        if done is not None and done.requests:
            return self.commutes(node, work)
        return self._why_no_computation(work) is None and self.order.why_not(node, work) is None

    def pending(self, node: Node) -> tuple[Part, ...] | None:
        """The buffers of all operations that a statement may start, or that it may complete; None:
        not known, or it does neither or both."""
        known = self._pending.get(id(node))
        if known is None:
            known = self._pending[id(node)] = node, self._buffers(node)
        return known[1]

    def is_asked_about(self, node: Node) -> bool:
        """Whether a statement starts or completes operations in called procedures, or completes
        operations of the iteration before, or it is not known which (``Messages``)."""
        return any(
            self.requests.is_call(leaf)
            or (self.requests.completes(leaf) and self._is_started_behind(leaf))
            for leaf in leaves(node)
        )

    def _is_started_behind(self, end: Leaf) -> bool:
        """Whether a start that belongs to a completion stands behind it; or it is not known which
        do."""
        starts = self.messages.completed_by(end)
        graph = self.facts.reaching.graph
        if starts is None:
            return True
        return any(graph.of(one.leaf)[-1:] > graph.of(end)[-1:] for one in starts)

    def may_complete(self, node: Node) -> tuple[StartedOperation, ...]:
        """The operations that a statement may complete; none, if they are not known."""
        done = self.requests.inside(node)
        found = [self.starts.of(request) for request in (done.completes if done else ())]
        return tuple(dict.fromkeys(one for starts in found for one in starts or ()))

    def is_completed(self, request: Part) -> bool:
        """Whether a line of the unit may complete operations with a request."""
        effects = (self.requests.of(leaf) for leaf in lines_of(self.facts.unit.body))
        return any(request.meets(part.object) for one in effects if one for part in one.completes)

    def _buffers(self, node: Node) -> tuple[Part, ...] | None:
        done = self.requests.inside(node)
        if done is None:
            return None
        if done.only_starts:
            return tuple(part for one in done.starts for part in one.buffers)
        if not done.only_completes or self.facts.effects.once(_moves_allocations):
            return None
        found: list[Part] = []
        for request in done.completes:
            starts = self.starts.of(request)
            if not starts:
                return None
            found += (part for one in starts for part in one.buffers)
        return tuple(dict.fromkeys(found))

    def _why_bound(self, node: Node) -> str | None:
        """Why a statement cannot move, whatever messages it starts or completes."""
        for effect in self.facts.footprint(node).effects:
            why = self._why_kept(effect, _MOVED)
            if why is not None:
                return why
        return self.order.place.fixed(node)

    def _why_no_computation(self, node: Node) -> str | None:
        """Why a statement is more than computation that can move."""
        for effect in self.facts.footprint(node).effects:
            why = self._why_kept(effect, _PASSED)
            if why is not None:
                return why
        for leaf, call in self.messages.calls(node):
            return f"{call.procedure.spelled} in line {line_of(leaf)}"
        return self.order.place.stays(node)

    def _why_kept(self, effect: Effect, kinds: frozenset[EffectKind]) -> str | None:
        """Why an effect that is not among some ``kinds`` keeps its place."""
        if effect.kind is EffectKind.CLOCK:
            return why_reading_stays(effect, self.facts)
        return None if effect.kind in kinds else effect.described

    def _accesses(self, node: Node) -> tuple[Access, ...]:
        first = next(leaves(node))
        others = self.order.by_others(first) if self.requests.inside(node) else ()
        threads = self.order.place.threads.accesses(node)
        return (*self.facts.footprint(node).accesses, *others, *threads)

    def _named_in(self, leaf: Leaf) -> Iterator[str | None]:
        """The storages of all variables in the text of a line; None: one may be any."""
        for what in actions(leaf.what):
            for expr in expressions_of(what):
                yield from evaluated_storages(expr, self.facts.scope)


def _moves_allocations(effects: Effects) -> bool:
    """Whether a program may give the memory of a buffer to another variable (F2018 16.9.137)."""
    return bool(effects.scopes.program.mentions("move_alloc"))


def _use(access: Access) -> str:
    does = "reads"
    if access.writes:
        does = "defines" if access.sure else "may define"
    return f"line {line_of(access.leaf)} {does} {access.spelled}"


def _name(object_: str) -> str:
    """An object as its unit names it."""
    return object_.rpartition("::")[2]
