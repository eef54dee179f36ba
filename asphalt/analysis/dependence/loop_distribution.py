"""Loop distribution: statements of an iteration that may be executed after all iterations.

Completions, and the statements that need the completed transfers, are executed in a loop of their
own after the loop of starts (Kennedy and McKinley, Loop distribution with arbitrary control flow,
1990, for the dependences; Danalis et al., ICS 2009, section 5, for its use).  A statement may move
if it does not conflict with any later iteration; conflicting statements after it in the list move
with it.  A wait moves with a request for each iteration (``iteration_pairs``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.few_iterations import has_own_indices
from asphalt.analysis.dependence.iteration_pairs import StartWaitPair, pairs_of
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.messages.messages import Messages, Stage, Way, envelopes_of, stage_of
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import names_in
from asphalt.ir.records import record
from asphalt.ir.tree import Do, Node, leaves

_STARTING = (Stage.START, Stage.BOTH, Stage.OTHER)


@record
class Tail:
    """The statements at ``places`` of a loop's body may be executed after the loop; ``pairs``: the
    waits among them."""

    places: frozenset[int]
    pairs: tuple[StartWaitPair, ...]

    @property
    def sizes(self) -> frozenset[str]:
        """The named constants that must be positive."""
        return frozenset().union(*(pair.sizes for pair in self.pairs))


def tails(loop: Do, order: Independence) -> tuple[Tail, ...]:
    """The statements that may be executed after a loop: as many as possible first, then with fewer
    waits."""
    return _Distribution(loop, order).tails()


def receives_can_move(loop: Do, order: Independence, private: frozenset[str]) -> bool:
    """Whether the message of some blocking receive of a loop may be used after all iterations, if
    each of them has its own buffers, the storages ``private``."""
    return _Distribution(loop, order, private).receives_can_move()


class _Distribution:
    """Questions about one loop.  ``private``: the variables that each iteration will have for
    itself."""

    def __init__(
        self, loop: Do, order: Independence, private: frozenset[str] = frozenset()
    ) -> None:
        self.loop = loop
        self.order = order
        self.private = private
        self.facts = order.facts
        self.messages: Messages = order.messages

    def tails(self) -> tuple[Tail, ...]:
        """The statements that may be executed after it."""
        variable = loop_variable(self.loop)
        if variable is None or not is_local(variable, self.facts) or has_own_indices(self.loop):
            return ()
        waiting = [n for n in range(len(self.loop.body)) if self._waits_alone(n)]
        if not waiting or any(self.order.place.bound(node) for node in self.loop.body):
            return ()
        found = [tail for n in waiting if (tail := self._closed({n})) is not None]
        if len(found) > 1:
            both = self._closed(set().union(*(tail.places for tail in found)))
            found = [both, *found] if both is not None else found
        return tuple(dict.fromkeys(found))

    def receives_can_move(self) -> bool:
        """Whether a statement with a blocking receive may move, with the statements that need the
        message; code motion may then move sends of the same iteration before it."""
        if loop_variable(self.loop) is None or has_own_indices(self.loop):
            return False
        ways = [self._ways(node) for node in self.loop.body]
        sending = {n for n, found in enumerate(ways) if found - {Way.IN}}

        def is_free(place: int, other: int) -> bool:
            first, second = (self.loop.body[n] for n in (place, other))
            if other < place or not self._keeps("<", first, second):
                return self._keeps("<", first, second)
            if other in sending:
                return self.order.data_commutes(first, second, self._stated)
            return self._keeps("=", first, second)

        return any(
            self._with_others({n}, is_free, lambda other: other not in sending) is not None
            for n, found in enumerate(ways)
            if found == {Way.IN}
        )

    def _ways(self, node: Node) -> frozenset[Way | None]:
        """The directions of the messages of a statement; None: it has other MPI calls."""
        found: set[Way | None] = set()
        for _, call in self.messages.calls(node):
            envelopes = envelopes_of(call) or ()
            found |= {envelope.way for envelope in envelopes} or {None}
        return frozenset(found)

    def _with_others(
        self,
        places: set[int],
        is_free: Callable[[int, int], bool],
        may_go: Callable[[int], bool],
    ) -> frozenset[int] | None:
        """These statements with all later ones that must move with them; None: one of those cannot
        move."""
        while True:
            new: set[int] = set()
            for here in (n for n in range(len(self.loop.body)) if n not in places):
                for place in places:
                    if not is_free(place, here):
                        if here < place or not may_go(here):
                            return None
                        new.add(here)
            if not new:
                return frozenset(places)
            places = places | new

    def _closed(self, some: set[int]) -> Tail | None:
        places = self._with_others(some, self._is_free, self._may_go)
        if places is None:
            return None
        waits = {id(leaf) for n in places for leaf in leaves(self.loop.body[n])}
        pairs = tuple(pair for pair in self._pairs if id(pair.wait) in waits)
        return Tail(places, pairs) if pairs else None

    def _waits_alone(self, place: int) -> bool:
        """Whether a statement is a completion that may move, as far as requests are concerned."""
        parts = [stage_of(call) for _, call in self.messages.calls(self.loop.body[place])]
        return Stage.COMPLETE in parts and self._may_go(place)

    def _may_go(self, place: int) -> bool:
        """Whether a statement starts nothing and waits only for operations of pairs."""
        waits = {id(pair.wait) for pair in self._pairs}
        for leaf, call in self.messages.calls(self.loop.body[place]):
            part = stage_of(call)
            if part in _STARTING or (part is Stage.COMPLETE and id(leaf) not in waits):
                return False
        return True

    # Data

    def _is_free(self, place: int, other: int) -> bool:
        """Whether a statement may be executed after another one of all later iterations, and of the
        same one if it precedes it."""
        first, second = (self.loop.body[n] for n in (place, other))
        if self.order.calls.why_not(first, second) is not None:
            return False
        return self._keeps("<", first, second) and (
            other < place or self._keeps("=", first, second)
        )

    @cached_property
    def _stated(self) -> frozenset[str]:
        """The storages of the statuses of blocking calls, which asphalt's waits do not define."""
        said = (
            actual
            for node in (self.loop.body if self.private else ())
            for _, call in self.messages.calls(node)
            for parameter, actual in call.bound()
            if parameter.kind in ("STATUS", "ERROR_CODE")
        )
        return frozenset(self.facts.names.storage(n) for a in said for n in names_in(a))

    def _keeps(self, relation: str, first: Node, second: Node) -> bool:
        """Whether a statement does not conflict with another one of later iterations, or of the
        same one."""
        mine, theirs = self._accesses(first), self._accesses(second)
        if mine is None or theirs is None:
            return False
        variable = loop_variable(self.loop)
        assert variable is not None

        def order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
            problem.compare(one[variable], relation, two[variable])

        return not any(
            a.conflicts(b)
            and not (not a.path and self.order.is_temporary(a.storage, first, second))
            and not (relation == "<" and a.storage in self.private)
            and a.storage not in self._stated
            and self._region.conflict(a, b, order) is not None
            for a in mine
            for b in theirs
        )

    @cached_property
    def _region(self) -> Region:
        head = self.loop.head
        accesses = [a for node in self.loop.body for a in self._accesses(node) or ()]
        writes = tuple(
            a for a in (*accesses, *self.facts.footprint(self.loop).accesses) if a.writes
        )
        changing = frozenset(a.storage for a in writes)
        return Region(self.facts.values, head, changing, writes, self.order.limits.at(head))

    def _accesses(self, node: Node) -> tuple[Access, ...] | None:
        """The accesses of a statement of the body in an iteration, buffers of pairs included."""
        if id(node) not in self._known:
            self._known[id(node)] = node, self._accesses_of(node)
        return self._known[id(node)][1]

    @cached_property
    def _known(self) -> dict[int, tuple[Node, tuple[Access, ...] | None]]:
        return {}

    def _accesses_of(self, node: Node) -> tuple[Access, ...] | None:
        usual = self.order.accesses(node)
        if usual is None:
            return None
        own = {id(leaf): pair for pair in self._pairs for leaf in (pair.start, pair.wait)}
        found: list[Access] = []
        for access in usual:
            pair = own.get(id(access.leaf))
            told = pair is not None and access.storage in self._storages(pair)
            if told and not access.by_others:
                continue
            found.append(replace(access, loops=(self.loop, *access.loops)))
        for leaf in leaves(node):
            if id(leaf) in own:
                found += (replace(a, leaf=leaf) for a in own[id(leaf)].accesses)
        return tuple(found)

    def _storages(self, pair: StartWaitPair) -> frozenset[str]:
        request = self.facts.names.storage(pair.request)
        return frozenset({request, *(access.storage for access in pair.accesses)})

    @cached_property
    def _pairs(self) -> tuple[StartWaitPair, ...]:
        return pairs_of(self.loop, self.order)
