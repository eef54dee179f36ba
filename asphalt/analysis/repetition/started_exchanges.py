"""Exchanges that are written as starts and one wait: MPI_IRECV, MPI_ISEND, MPI_WAITALL.

A *group* is a wait for all of several operations, with their starts before it in the same list.
It has one receive and one send of each tag: what all ranks send with a tag, they receive with it.
Such a pair does what MPI_SENDRECV does in the place of the wait (MPI-4.0 section 3.4): until then
the program may neither change what is sent nor look at what is received (3.7.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.messages.messages import Messages, Stage, envelopes_of, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.ir.edit import lists_in
from asphalt.ir.expr import Expr, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node

_SEND, _RECEIVE = "mpi_isend", "mpi_irecv"
_WAITS = frozenset({"mpi_wait", "mpi_waitall"})


@record
class StartedPair:
    """A send and a receive with one tag, and the wait for both."""

    send: Leaf
    receive: Leaf
    sent: MpiCall
    received: MpiCall
    wait: Leaf

    @property
    def way(self) -> tuple[Expr, Expr, Expr]:
        """The partners and the communicator."""
        return self.sent.args["dest"], self.received.args["source"], self.sent.args["comm"]


@record
class StartedGroup:
    """A wait for some pairs, in the order of their receives; ``wait``: its position in its list;
    ``starts``: those of the starts."""

    pairs: tuple[StartedPair, ...]
    wait: int
    starts: frozenset[int]


class StartedExchanges:
    """The groups of a unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.messages = facts.once(Messages)
        self.order = facts.once(Independence.of)
        self._known: dict[int, tuple[tuple[Node, ...], tuple[StartedGroup, ...]]] = {}

    def in_list(self, siblings: tuple[Node, ...]) -> tuple[StartedGroup, ...]:
        """The groups of one list, in source order."""
        if id(siblings) not in self._known:
            found = (self._group(position, siblings) for position in range(len(siblings)))
            kept = tuple(one for one in found if one is not None)
            self._known[id(siblings)] = siblings, kept
        return self._known[id(siblings)][1]

    def is_paired(self, leaf: Leaf) -> bool:
        """Whether a start has another one in its list that goes the other way: a receive and a send
        with one tag, whatever completes them, and no other message with it in between."""
        return id(leaf) in self._paired_starts

    @cached_property
    def _paired_starts(self) -> dict[int, Leaf]:
        found: dict[int, Leaf] = {}  # the statements are kept, so that no other gets their ids
        for _, siblings in lists_in(self.facts.unit.body):
            starts = [
                (position, node, call)
                for position, node in enumerate(siblings)
                if isinstance(node, Leaf) and isinstance(node.what, Call)
                if (call := self.messages.call(node)) is not None
                if call.procedure.name in (_SEND, _RECEIVE)
            ]
            while starts:
                position, leaf, call = starts.pop(0)
                other = next((one for one in starts if self._answers(call, one[2])), None)
                if other is None:
                    continue
                between = siblings[position + 1 : other[0]]
                calls = ((leaf, call), (other[1], other[2]))
                if all(self._leaves_paired(node, calls) for node in between):
                    found[id(leaf)], found[id(other[1])] = leaf, other[1]
                    starts.remove(other)
        return found

    def _answers(self, call: MpiCall, other: MpiCall) -> bool:
        """Whether two starts may be a pair."""
        scope = self.facts.scope_of_these_sizes
        tags = [constant(one.args["tag"], scope) for one in (call, other)]
        return (
            call.procedure.name != other.procedure.name
            and tags[0] is not None
            and tags[0] == tags[1]
            and call.args["comm"] == other.args["comm"]
        )

    def _leaves_paired(self, node: Node, calls: tuple[tuple[Leaf, MpiCall], ...]) -> bool:
        """Whether a statement between two starts leads to both or none of them, and has no message
        with their tag."""
        if self.order.place.fixed(node) is not None:
            return False
        unseen = any(
            effect.kind is not EffectKind.MPI or self.messages.call(effect.leaf) is None
            for effect in self.facts.footprint(node).effects
        )
        return not unseen and not self._may_have_tag(node, calls)

    def _group(self, position: int, siblings: tuple[Node, ...]) -> StartedGroup | None:
        """The group whose wait stands at a position."""
        wait = siblings[position]
        if not isinstance(wait, Leaf) or not isinstance(wait.what, Call):
            return None
        call = self.messages.call(wait)
        if call is None or call.procedure.name not in _WAITS or call.binding == "runtime":
            return None
        started = self.messages.completed_by(wait)
        if not started or any(one.partners != (wait,) for one in started):
            return None
        places = {id(node): number for number, node in enumerate(siblings[:position])}
        found = [(places.get(id(one.leaf), -1), one.leaf, one.call) for one in started]
        first = min(place for place, _, _ in found)
        if first < 0 or any(not isinstance(leaf.what, Call) for _, leaf, _ in found):
            return None
        pairs = tuple(self._paired(sorted(found, key=lambda one: one[0]), wait))
        if len(pairs) * 2 != len(found):
            return None
        starts = frozenset(place for place, _, _ in found)
        for number in range(first, position):
            under_way = [(leaf, one) for place, leaf, one in found if place < number]
            if self._why_stays(siblings[number], under_way) is not None:
                return None
        others = (siblings[n] for n in range(first, position) if n not in starts)
        if any(self._may_have_tag(node, [one[1:] for one in found]) for node in others):
            return None
        return StartedGroup(pairs, position, starts)

    def _may_have_tag(self, node: Node, calls: Iterable[tuple[Leaf, MpiCall]]) -> bool:
        """Whether a statement among some starts may start a message with a tag of theirs, so that
        the order of the starts decides which receive gets what."""
        scope = self.facts.scope_of_these_sizes
        own = {constant(call.args["tag"], scope) for _, call in calls}
        for _, call in self.messages.calls(node):
            if stage_of(call) in (Stage.NOTHING, Stage.COMPLETE):
                continue
            tags = {constant(e.tag, scope) for e in envelopes_of(call) or ()}
            if not tags or None in tags or tags & own:
                return True
        return False

    def _paired(self, found: list[tuple[int, Leaf, MpiCall]], wait: Leaf) -> Iterator[StartedPair]:
        """Each receive with the only send that has its tag, and the same communicator."""
        scope = self.facts.scope_of_these_sizes
        sends = [(leaf, call) for _, leaf, call in found if call.procedure.name == _SEND]
        receives = [(leaf, call) for _, leaf, call in found if call.procedure.name == _RECEIVE]
        for leaf, call in receives:
            tag = constant(call.args["tag"], scope)
            same = [one for one in sends if constant(one[1].args["tag"], scope) == tag]
            others = [one for one in receives if constant(one[1].args["tag"], scope) == tag]
            if tag is None or len(same) != 1 or len(others) != 1:
                continue
            ((send, sent),) = same
            if sent.args["comm"] == call.args["comm"] and sent.binding == call.binding:
                yield StartedPair(send, leaf, sent, call, wait)

    def _why_stays(self, node: Node, started: list[tuple[Leaf, MpiCall]]) -> str | None:
        """Why some starts cannot be executed behind a statement that follows them."""
        fixed = self.order.place.fixed(node)
        if fixed is not None:
            return fixed
        for leaf, call in self.messages.calls(node):
            if leaf is not node or stage_of(call) not in (Stage.START, Stage.NOTHING):
                return f"{call.procedure.spelled} of {self.facts.at(leaf)}"
        for effect in self.facts.footprint(node).effects:
            if effect.kind is not EffectKind.MPI or self.messages.call(effect.leaf) is None:
                return effect.described
        found = self.order.accesses(node)
        if found is None:
            return "a wait for unknown buffers"
        writes = tuple(access for access in found if access.writes)
        is_start = isinstance(node, Leaf) and self.messages.call(node) is not None
        for leaf, call in started:
            named = {storage_of(name, self.facts.scope) for name in _evaluated(call)}
            if any(access.storage in named for access in writes):
                return "it defines an argument"
            if not is_start and call.procedure.name == _SEND:
                reads = self.messages.touched(leaf, call)
                if reads is None or self.order.conflict(node, leaf, writes, reads) is not None:
                    return "it defines what is sent"
        return None


def _evaluated(call: MpiCall) -> Iterator[str]:
    """The names in the arguments of a start, without the buffer itself and the request."""
    for name, given in call.args.items():
        if name == "buf" and isinstance(given, Ref):
            yield from (one for inside in given.args or () for one in names_in(inside))
        elif name not in ("request", "ierror"):
            yield from names_in(given)


def reads_statuses(call: MpiCall, facts: UnitFacts) -> bool:
    """Whether a wait stores statuses in variables."""
    given = (call.args.get(name) for name in ("status", "array_of_statuses"))
    return any(one is not None and mpi_constant(one, facts.scope) is None for one in given)
