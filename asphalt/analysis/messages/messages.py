"""The messages of one unit: the sends and receives that calls start, and their completions.

The rules are those of Danalis et al., ICS 2009, section 4: a call that starts a transfer uses or
defines its buffer until the call that completes it, which identifies the buffer by its request
(``whichbuf``); messages with the same source, tag and communicator do not overtake each other
(MPI-4.0 section 3.5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import cache, cached_property

from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.control_flow.paths import leads_to, path_witness
from asphalt.analysis.data_flow.preserved_values import PreservedValues
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import Access, EffectKind
from asphalt.analysis.memory.forward_substitution import is_integer, is_plain_integer
from asphalt.analysis.memory.mpi_buffers import touched_buffers, transfer_buffers
from asphalt.analysis.memory.reallocation import MOVE
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.same_matches import SameMatches, is_explained
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.library_effects import (
    Quantity,
    Store,
    Until,
    is_ready_mode,
    library_row,
    receives,
)
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing
from asphalt.analysis.names.designators import designators_in
from asphalt.analysis.requests.local import OwnRequests
from asphalt.analysis.requests.matching import Match, Matched, is_blocking_transfer, matching
from asphalt.analysis.requests.operations import operations
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Assign, Call, DoHead, Jump, Plain, What
from asphalt.ir.tree import Do, Leaf, Node, leaves


class Way(Enum):
    """The direction of a message."""

    OUT = "sends"
    IN = "receives"


class Stage(Enum):
    """The stages of a transfer that a call performs (MPI-4.0 section 2.4)."""

    START = "starts"  # returns whatever other processes do
    COMPLETE = "completes"  # returns when an operation started before is complete
    BOTH = "starts and completes"
    OTHER = "does something else"  # nothing may change places with it
    NOTHING = "asks"  # a local question


@record
class Envelope:
    """The envelope of a message: the other rank, the tag, the communicator."""

    way: Way
    peer: Expr
    tag: Expr
    communicator: Expr


def stage_of(call: MpiCall) -> Stage:
    """The stages of transfers that a call performs."""
    return stage_of_procedure(call.procedure)


@cache
def stage_of_procedure(procedure: MpiProcedure) -> Stage:
    """The stages of transfers that each call of a procedure performs."""
    row = library_row(procedure)
    if row.quiet:
        return Stage.NOTHING
    stores = {access.store for access in row.accesses}
    done = row.completion
    if done is not None and stores <= {Store.REQUEST}:
        all_of_them = done.certain and done.quantity is Quantity.ALL
        return Stage.COMPLETE if all_of_them else Stage.OTHER
    if is_ready_mode(procedure):
        return Stage.OTHER
    if Store.COLLECTIVE in stores and procedure.timing is not Timing.NONBLOCKING:
        return Stage.OTHER
    moving = {Store.INCOMING, Store.OUTGOING, Store.COLLECTIVE}
    only_messages = stores <= {*moving, Store.REQUEST, Store.OBJECT}
    handles = [a for a in row.accesses if a.store is Store.OBJECT]
    if not only_messages or any(a.writes for a in handles) or not row.transfers:
        return Stage.OTHER
    if not stores & moving:
        return Stage.OTHER
    match procedure.timing:
        case Timing.NONBLOCKING if all(t.until is Until.COMPLETION for t in row.transfers):
            return Stage.START
        case Timing.BLOCKING:
            return Stage.BOTH
    return Stage.OTHER


def envelopes_of(call: MpiCall) -> tuple[Envelope, ...] | None:
    """The envelopes of the messages of a call; None: not all arguments are given."""
    found: list[Envelope] = []
    for access in library_row(call.procedure).accesses:
        if access.store in (Store.INCOMING, Store.OUTGOING):
            given = [call.args.get(name or "") for name in access.subscripts]
            peer, tag, communicator = given
            if peer is None or tag is None or communicator is None:
                return None
            way = Way.IN if access.store is Store.INCOMING else Way.OUT
            found.append(Envelope(way, peer, tag, communicator))
    return tuple(found)


class Messages:
    """The transfers of a unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts

    def call(self, leaf: Leaf) -> MpiCall | None:
        """The MPI call of a statement."""
        call = leaf.call
        if call is None:
            return None
        if id(call) not in self._called:  # the call is kept, so that no other gets its identity
            self._called[id(call)] = call, mpi_call(call, self.facts.scope)
        return self._called[id(call)][1]

    @cached_property
    def _called(self) -> dict[int, tuple[Call, MpiCall | None]]:
        return {}

    def receives(self, node: Node) -> bool:
        """Whether a statement or construct starts a receive or a probe, or is one."""
        made = ((leaf, self.call(leaf)) for leaf in leaves(node))
        found = (leaf for leaf, call in made if call is not None and receives(call.procedure))
        return any(not self.facts.executed.never(leaf) for leaf in found)

    def own_calls(self) -> Iterator[tuple[Leaf, MpiCall]]:
        """All MPI calls of the unit, without those of procedures that it contains."""
        for node in self.facts.unit.body:
            yield from self.calls(node)

    def written_calls(self) -> Iterator[tuple[Leaf, MpiCall]]:
        """All MPI calls of the unit, also those that are never executed."""
        for node in self.facts.unit.body:
            for leaf in leaves(node):
                call = self.call(leaf)
                if call is not None:
                    yield leaf, call

    def calls(self, node: Node) -> Iterator[tuple[Leaf, MpiCall]]:
        """All MPI calls in a statement or construct that may be executed."""
        found = self._calls.get(id(node))
        if found is None:
            made = ((leaf, self.call(leaf)) for leaf in leaves(node))
            own = [(leaf, call) for leaf, call in made if call is not None]
            executed = (one for one in own if not self.facts.executed.never(one[0]))
            found = self._calls[id(node)] = node, tuple(executed)
        yield from found[1]

    @cached_property
    def _calls(self) -> dict[int, tuple[Node, tuple[tuple[Leaf, MpiCall], ...]]]:
        return {}

    def only_starts(self, node: Node, computing: bool = False) -> bool:
        """Whether a statement or construct only starts transfers; ``computing``: it may also set
        integers for that."""
        starts = False
        for leaf in leaves(node):
            what = leaf.action
            call = self.call(leaf)
            if call is not None and stage_of(call) is Stage.START:
                starts = True
            elif self.facts.executed.is_check(leaf) or (computing and self._computes(what)):
                continue
            elif not isinstance(what, DoHead | ArmHead | Jump | Plain):
                return False
        return starts

    def _computes(self, what: What) -> bool:
        """Whether a statement assigns to an integer scalar, and calls nothing of the user."""
        match what:
            case Assign(target=Ref(name=name, args=None), value=value, pointer=False):
                symbol = self.facts.scope.lookup(name)
                plain = symbol is not None and is_plain_integer(symbol)
                return plain and is_integer(value, self.facts.scope)
        return False

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The matching of starts and completions."""
        known = self._matches
        return known if all(map(is_explained, known)) else self._matched()

    @cached_property
    def _matches(self) -> tuple[Match, ...]:
        """The same, where the reason does not matter why there is no answer."""
        found = self._same.found()
        if found is None:
            found = self._matched()
            self._same.note(found)
        return found

    def _matched(self) -> tuple[Match, ...]:
        facts = self.facts
        return matching(facts.scope, facts.values, facts.reaching, own=self._requests)

    @cached_property
    def _same(self) -> SameMatches:
        return SameMatches(self.facts, self.call)

    @cached_property
    def _starts(self) -> dict[int, list[Matched]]:
        found: dict[int, list[Matched]] = {}
        for match in self._matches:
            if isinstance(match, Matched) and not match.is_blocking:
                for partner in match.partners:
                    found.setdefault(id(partner), []).append(match)
        return found

    @cached_property
    def _unknown(self) -> frozenset[str | None]:
        """The variables with requests whose completions are unknown."""
        own = self._requests.operations
        return frozenset(
            own[id(match.leaf)].root if id(match.leaf) in own else None
            for match in self._matches
            if not isinstance(match, Matched)
            and stage_of(match.call) is not Stage.BOTH
            and not is_blocking_transfer(match.call.procedure)  # it leaves no request
        )

    @cached_property
    def _requests(self) -> OwnRequests:
        found = operations(self.facts.reaching, self.facts.scope, self.facts.values)
        return OwnRequests(self.facts.scope, self.facts.values, self.facts.reaching, found)

    def envelopes(self, call: MpiCall) -> tuple[Envelope, ...] | None:
        """The possible envelopes of the messages of a call; None: not all arguments are given.

        A call that takes messages from a queue may take those of all calls that put some into it.
        """
        if call.queue is None or stage_of(call) is Stage.START:
            return envelopes_of(call)
        found: list[Envelope] = []
        for _, other in self._of_queue(call.queue, Stage.START):
            envelopes = envelopes_of(other)
            if envelopes is None:
                return None
            found += envelopes
        return tuple(found)

    def _of_queue(self, queue: Expr, part: Stage) -> list[tuple[Leaf, MpiCall]]:
        """The calls that put messages into a queue, or those that take them out."""
        return [
            (leaf, call)
            for leaf, call in self.own_calls()
            if call.queue is not None
            and stage_of(call) is part
            and names_in(call.queue) == names_in(queue)
        ]

    def completion(self, leaf: Leaf) -> tuple[Leaf, ...] | None:
        """The calls that complete the operations of a call; None: unknown."""
        call = self.call(leaf)
        if call is not None and call.queue is not None:
            return tuple(taking for taking, _ in self._of_queue(call.queue, Stage.BOTH))
        for match in self._matches:
            if match.leaf is leaf:
                return match.partners if isinstance(match, Matched) else None
        return None

    def completed_by(self, leaf: Leaf) -> tuple[Matched, ...] | None:
        """The operations that a completion may complete; None: unknown."""
        if not self._same.is_own(leaf, self._requests.is_own):
            return None
        if self._unknown & {None, self._requests.operations[id(leaf)].root}:
            return None
        return tuple(self._starts.get(id(leaf), ()))

    def changed_by(self, leaf: Leaf) -> frozenset[str] | None:
        """The storages that the operations which a call completes may change; None: unknown."""
        return self._requests.changed_by(leaf)

    def follows(self, end: Leaf, starts: Iterable[Leaf], ends: Iterable[Leaf]) -> bool:
        """Whether every path to a completion, from the entry or from one of some completions,
        passes one of some starts."""
        graph = self.facts.reaching.graph
        target = graph.action(end)
        before = {point for leaf in ends if (point := graph.action(leaf)) is not None}
        between = {point for leaf in starts if (point := graph.action(leaf)) is not None}
        if target is None:
            return False
        known = self._requests.branches.knowing(self._requests.changed_by)
        excluded = known.excluded_before(target)
        return not leads_to(graph, {ENTRY, *before}, target, between, excluded)

    def pending(self, leaf: Leaf) -> tuple[Access, ...] | None:
        """The accesses to buffers of the operations of a completion; None: unknown."""
        started = self.completed_by(leaf)
        if started is None:
            return None
        found: list[Access] = []
        for match in started:
            buffers = self.touched(match.leaf, match.call)
            if buffers is None or stage_of(match.call) is not Stage.START:
                return None
            if self._moves_between(match.leaf, leaf, buffers):
                return None
            kept = self._kept_between(match.leaf, leaf)
            for access in buffers:
                given = access.subscripts or access.inside or ()
                names = {n for s in given for n in designators_in(s)} - kept
                here = replace(access, leaf=leaf)
                if not self._same_at(names, match.leaf, leaf):
                    here = replace(here, subscripts=None, inside=None)
                found.append(here)
        return tuple(found)

    def _moves_between(self, start: Leaf, end: Leaf, buffers: tuple[Access, ...]) -> bool:
        """Whether MOVE_ALLOC may give the memory of a buffer to another variable (F2018 16.9.137)
        before the completion of the operation, which then accesses that one."""
        graph = self.facts.reaching.graph
        points = graph.action(start), graph.action(end)
        for point, written in self._moved:
            if not any(write.meets(buffer) for write in written for buffer in buffers):
                continue
            if points[0] is None or points[1] is None:
                return True
            if path_witness(graph, [points[0]], {point}, {points[1]}) is not None:
                return True
        return False

    @cached_property
    def _moved(self) -> tuple[tuple[int, tuple[Access, ...]], ...]:
        """The points that move allocations, with the accesses that may do that."""
        found: list[tuple[int, tuple[Access, ...]]] = []
        for point in self.facts.reaching.graph.points:
            footprint = self.facts.reaching.accesses.footprint(point.number)
            if any(e.kind is EffectKind.ALLOCATION and e.detail == MOVE for e in footprint.effects):
                found.append((point.number, tuple(a for a in footprint.accesses if a.writes)))
        return tuple(found)

    def _same_at(self, names: Collection[str], start: Leaf, end: Leaf) -> bool:
        """Whether objects have the same values at a completion as at the start of the operation;
        ``names``: their designators."""
        written = (name for name in names if self.facts.values.written_in_unit(name))
        names = [name.split("%")[0] for name in written]
        if self.kept.until(names, start, end):
            return True
        return self._requests.ends(start, end) and self.kept.until_next(names, start, end)

    @cached_property
    def kept(self) -> PreservedValues:
        """The variables that keep their values between statements."""
        own = self._requests
        return PreservedValues(self.facts, own.branches.knowing(own.changed_by))

    def _kept_between(self, start: Leaf, end: Leaf) -> frozenset[str]:
        """The variables of the loops around both statements, which nothing else may change, if the
        operation is complete before the next iteration."""
        graph = self.facts.reaching.graph
        points = graph.action(start), graph.action(end)
        if points[0] is None or points[1] is None:
            return frozenset()
        both = [loop for loop in graph.points[points[0]].around if isinstance(loop, Do)]
        kept: set[str] = set()
        for loop in both:
            name = loop_variable(loop)
            if name is None or all(loop is not o for o in graph.points[points[1]].around):
                continue
            if path_witness(graph, [points[0]], graph.of(loop.head), {points[1]}) is None:
                kept.add(name)
        return frozenset(kept)

    def buffers(self, leaf: Leaf, call: MpiCall) -> tuple[Access, ...] | None:
        """The accesses of a call to its buffers, with the elements that the count allows.

        None: a buffer is not a variable.
        """
        return transfer_buffers(leaf, call, self.facts.scope, self.facts.values)

    def touched(self, leaf: Leaf, call: MpiCall) -> tuple[Access, ...] | None:
        """The accesses of ``buffers``; where the count is unknown, to all elements from the first
        one."""
        return touched_buffers(leaf, call, self.facts.scope, self.facts.values)
