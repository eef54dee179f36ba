"""Whether two adjacent statements commute, MPI calls included.

Danalis et al., ICS 2009, section 4: the sets USE and DEF of both calls (table 1) here, the effects
in the library (table 2) in ``messages.non_overtaking``, the rules for control flow in
``placement``.

Two adjacent statements of one list are executed equally often, each time one after the other, if
nothing leaves the list between them.  This is the rule of dominance of the paper for all moves
within a list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.data_flow.same_statements import (
    KnownPairs,
    Meeting,
    Question,
    SameStatements,
)
from asphalt.analysis.data_flow.temporaries import Temporaries
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.defined_between import DefinedBetween
from asphalt.analysis.dependence.held_memory import HeldMemory
from asphalt.analysis.dependence.placement import Placement
from asphalt.analysis.dependence.size_limits import KnownLimits
from asphalt.analysis.memory.accesses import ALIASED, Access, Mode
from asphalt.analysis.memory.regions import Region
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.messages.non_overtaking import MessageOrder
from asphalt.analysis.names.constants import constant, is_open
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Arg, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Leaf, Node, leaves


@record
class StatementConflicts:
    """Two statements with the conflicts that were found, and those that are still to be found."""

    first: Node
    second: Node
    found: list[Conflict]
    rest: Iterator[Conflict]


@record
class Conflict:
    """Two accesses that may be to one element, if they are known; ``what``: of which object."""

    reason: str
    region: Region | None = None
    first: Access | None = None
    second: Access | None = None
    what: str = ""

    def sizes(self, is_positive: Callable[[str], bool]) -> frozenset[str] | None:
        """The fewest named constants in the accesses that resolve it if they are positive; None:
        they do not."""
        if self.region is None or self.first is None or self.second is None:
            return None
        region, first, second = self.region, self.first, self.second
        named = _names_of(first, region) | _names_of(second, region)
        positive = sorted(name for name in named if is_positive(name))
        if not positive or _meet(region, first, second, positive):
            return None
        if len(positive) > 1:
            for name in positive:
                if not _meet(region, first, second, (name,)):
                    return frozenset((name,))
        return frozenset(positive)


def _meet(region: Region, first: Access, second: Access, positive: Sequence[str]) -> bool:
    """Whether two accesses may be to one element although some named constants are positive."""
    limits = ((Poly.atom(Ref(name, name)), Poly.constant(1)) for name in positive)
    return region.with_limits(limits).conflict(first, second, _any_order) is not None


def _names_of(access: Access, region: Region) -> frozenset[str]:
    """The names in the subscripts of an access, and in the bounds of the loops around it; of an
    access of a called procedure, those that its elements depend on."""
    exprs: list[Arg | None] = [*(access.subscripts or access.inside or ())]
    for loop in access.loops:
        head = loop.head.what
        if isinstance(head, DoHead):
            exprs += (head.first, head.last)
    own = frozenset(name for expr in exprs if expr is not None for name in names_in(expr))
    return own | region.names_in_part(access)


@dataclass(eq=False)
class Independence:
    """Answers for one unit."""

    facts: UnitFacts
    messages: Messages

    @classmethod
    def of(cls, facts: UnitFacts) -> Independence:
        """The answers for a unit (``facts.once`` keeps them)."""
        return cls(facts, facts.once(Messages))

    def why_not(self, first: Node, second: Node) -> str | None:
        """Why ``second``, the next sibling of ``first``, cannot be executed before it; None: it
        can."""
        key = (id(first), id(second))
        if key not in self._answers:  # the nodes are kept, so that no other gets their ids
            self._answers[key] = (first, second, self._why_not(first, second))
        return self._answers[key][2]

    def _why_not(self, first: Node, second: Node) -> str | None:
        for node in (first, second):
            reason = self.place.stays(node)
            if reason is not None:
                return reason
        return self.calls.why_not(first, second) or self._data(first, second)

    def why_not_outside(self, first: Node, second: Node) -> str | None:
        """``why_not``, where what else is in the parallel region of one of them goes along."""
        if not any(map(self.place.threads.threads.region_of, (first, second))):
            return self.why_not(first, second)
        stays = (self.place.stays_outside(node) for node in (first, second))
        reason = next((why for why in stays if why is not None), None)
        return reason or self.calls.why_not(first, second) or self._data(first, second)

    @cached_property
    def place(self) -> Placement:
        """The statements that cannot move at all."""
        return Placement(self.facts, self.messages)

    @cached_property
    def calls(self) -> MessageOrder:
        """The order of MPI calls, whatever data they access."""
        return MessageOrder(self.facts, self.messages)

    @cached_property
    def _answers(self) -> dict[tuple[int, int], tuple[Node, Node, str | None]]:
        return {}

    def _data(self, first: Node, second: Node) -> str | None:
        pair = self._same.pair(first, second)
        if pair in self._same.known.independent:
            return None
        question = self._question(first, second)
        known = None if question is None else self._same.known.meetings.get(question)
        if known is not None:
            own = {self._same.numbers[id(leaf)]: leaf for leaf in (*leaves(first), *leaves(second))}
            return _reason(known.what, *(own[number] for number in known.lines))
        conflict = next(self._conflicts(first, second), None)
        if conflict is None:
            if pair is not None and not self._with_temporaries(first, second):
                self._same.known.independent.add(pair)
            return None
        if question is not None and conflict.first is not None and conflict.second is not None:
            numbers = self._same.of((conflict.first.leaf, conflict.second.leaf))
            if numbers is not None and question.is_about(numbers):
                self._same.known.meetings[question] = Meeting(numbers, conflict.what)
        return conflict.reason

    @cached_property
    def _same(self) -> SameStatements:
        """The statements that other texts have, too."""
        return self.facts.same or SameStatements({}, KnownPairs())

    def _question(
        self, first: Node, second: Node, parts: frozenset[int] | None = None
    ) -> Question | None:
        """Whether two statements commute, as other texts ask it."""
        pair = self._same.pair(first, second)
        if pair is None:
            return None
        return Question(pair, self._defined_between(first, second), parts)

    def _with_temporaries(self, first: Node, second: Node) -> bool:
        """Whether accesses of two statements were passed over since they are to temporaries: other
        texts may need their values."""
        return frozenset((id(first), id(second))) in self._temporary

    @cached_property
    def _temporary(self) -> set[frozenset[int]]:
        """The pairs of statements that access temporaries, by identity."""
        return set()

    def sizes_for(self, first: Node, second: Node) -> frozenset[str] | None:
        """The named constants that must be positive, as they are now, for ``second`` to be executed
        before ``first``; None: this is not sufficient."""
        key = (id(first), id(second))
        if key not in self._sizes:
            self._sizes[key] = (first, second, self._sizes_for(first, second))
        return self._sizes[key][2]

    @cached_property
    def _sizes(self) -> dict[tuple[int, int], tuple[Node, Node, frozenset[str] | None]]:
        return {}

    def _sizes_for(self, first: Node, second: Node) -> frozenset[str] | None:
        if any(self.place.stays(node) is not None for node in (first, second)):
            return None
        if self.calls.why_not(first, second) is not None:
            return None
        question, known = self._question(first, second), self._same.known.sizes
        if question in known:
            return known[question]
        found = self._needed_sizes(first, second)
        if question is not None and (found is None or not self._with_temporaries(first, second)):
            known[question] = found
        return found

    def _needed_sizes(self, first: Node, second: Node) -> frozenset[str] | None:
        needed: frozenset[str] = frozenset()
        for conflict in self._conflicts(first, second):
            sizes = conflict.sizes(self.is_positive)
            if sizes is None:
                return None
            needed |= sizes
        return needed

    def data_commutes(self, first: Node, second: Node, besides: frozenset[str]) -> bool:
        """Whether the data of two statements lets them commute, storages ``besides`` excepted, as
        long as some named constants are positive."""
        return all(
            (conflict.first is not None and conflict.first.storage in besides)
            or conflict.sizes(self.is_positive) is not None
            for conflict in self._conflicts(first, second)
        )

    def is_positive(self, name: str) -> bool:
        """Whether a name is that of a named constant which may have any value, and has a positive
        one now."""
        if not is_open(Ref(name, name), self.facts.scope):
            return False
        value = constant(Ref(name, name), self.facts.scope_of_these_sizes)
        return value is not None and value > 0

    def _conflicts(self, first: Node, second: Node) -> Iterator[Conflict]:
        """The conflicts of two statements, each found on demand.

        They are those of the statements where they stand in the unit.  Whatever has moved in the
        meantime legally, each accesses the same elements.
        """
        if self._stands_behind(first, second):
            first, second = second, first
        key = (id(first), id(second))
        if key not in self._looked_at:
            rest = self._conflicts_of(first, second)
            self._looked_at[key] = StatementConflicts(first, second, [], rest)
        looked_at = self._looked_at[key]
        yield from looked_at.found
        for conflict in looked_at.rest:
            looked_at.found.append(conflict)
            yield conflict

    @cached_property
    def _looked_at(self) -> dict[tuple[int, int], StatementConflicts]:
        return {}

    def _conflicts_of(self, first: Node, second: Node) -> Iterator[Conflict]:
        mine, theirs = self.accesses(first), self.accesses(second)
        if mine is None or theirs is None:
            yield Conflict("a wait for unknown buffers")
            return
        yield from self.conflicting(first, second, mine, theirs)

    def conflict(
        self, first: Node, second: Node, mine: tuple[Access, ...], theirs: tuple[Access, ...]
    ) -> tuple[Access, Access] | None:
        """Two conflicting accesses of two statements, whatever sizes are positive; None: they
        commute."""
        for conflict in self.conflicting(first, second, mine, theirs):
            pair = conflict.first, conflict.second
            if pair[0] and pair[1] and conflict.sizes(self.is_positive) is None:
                return pair[0], pair[1]
        return None

    def may_meet(
        self, first: Node, second: Node, mine: tuple[Access, ...], theirs: tuple[Access, ...]
    ) -> bool:
        """Whether these accesses of two statements may be to one element (``conflict``)."""
        own = self._same.of(access.leaf for access in (*mine, *theirs))
        question = None if own is None else self._question(first, second, frozenset(own))
        known = self._same.known.parts
        if question in known:
            return known[question]
        found = self.conflict(first, second, mine, theirs) is not None
        if question is not None and (found or not self._with_temporaries(first, second)):
            known[question] = found
        return found

    def conflicting(
        self, first: Node, second: Node, mine: tuple[Access, ...], theirs: tuple[Access, ...]
    ) -> Iterator[Conflict]:
        """The conflicts between these accesses of two statements, as the statements stand."""
        region: Region | None = None  # most statements have no variable in common
        to_storage = defaultdict[str, list[Access]](list)
        for b in theirs:
            to_storage[b.storage].append(b)
        for a in mine:
            for b in to_storage.get(a.storage, ()):
                if not a.conflicts(b):
                    continue
                if not a.path and self.is_temporary(a.storage, first, second):
                    self._temporary.add(frozenset((id(first), id(second))))
                    continue
                if region is None:
                    region = self._region(first, second, (*mine, *theirs))
                if region.conflict(a, b, _any_order) is not None:
                    why = None if a.path else self._temporaries.why_not(a.storage, first, second)
                    if a.by_others or b.by_others:
                        why = self._held.why(a.storage)
                    shown = a.spelled if a.storage == ALIASED else a.object
                    what = shown if why is None else f"{shown} ({why})"
                    yield Conflict(_reason(what, a.leaf, b.leaf), region, a, b, what)

    def _region(self, first: Node, second: Node, accesses: tuple[Access, ...]) -> Region:
        """The region in which accesses of two statements are compared."""
        start = next(leaves(first))
        some = (Access.to_some_of(name, start) for name in self._defined_between(first, second))
        writes = (*(a for a in accesses if a.writes), *some)
        changing = frozenset(a.storage for a in writes)
        return Region(self.facts.values, start, changing, writes, self.limits.at(start))

    def _stands_behind(self, first: Node, second: Node) -> bool:
        """Whether ``first`` stands behind ``second`` in the unit."""
        places = [self._defined.place(node) for node in (first, second)]
        return places[0] is not None and places[1] is not None and places[0] > places[1]

    def _defined_between(self, first: Node, second: Node) -> frozenset[str]:
        """The objects that may be defined between two statements of the unit as it stands: what is
        asked may be whether they commute once those between them have moved, and their subscripts
        have different values then although they have the same names."""
        return self._defined.objects(first, second)

    @cached_property
    def _defined(self) -> DefinedBetween:
        return DefinedBetween(self.facts, self.messages)

    @cached_property
    def limits(self) -> KnownLimits:
        """Known limits of sizes."""
        return KnownLimits.of(self.facts, self.messages)

    def is_temporary(self, storage: str, first: Node, second: Node) -> bool:
        """Whether two statements commute although both define a variable (``temporaries``)."""
        return self._temporaries.between(storage, first, second)

    @cached_property
    def _temporaries(self) -> Temporaries:
        return Temporaries(self.facts, self.accesses)

    def accesses(self, node: Node) -> tuple[Access, ...] | None:
        """All that a statement reads and writes, with the buffers of transfers that it starts or
        completes; None: unknown."""
        if id(node) not in self._accesses:
            self._accesses[id(node)] = (node, self._accesses_of(node))
        return self._accesses[id(node)][1]

    @cached_property
    def _accesses(self) -> dict[int, tuple[Node, tuple[Access, ...] | None]]:
        return {}

    def _accesses_of(self, node: Node) -> tuple[Access, ...] | None:
        found: list[Access] = []
        buffers: dict[int, set[tuple[str, tuple[str, ...], Mode]]] = {}
        for leaf, call in self.messages.calls(node):
            part = stage_of(call)
            if part is Stage.COMPLETE:
                pending = self.messages.pending(leaf)
                if pending is None:
                    return None
                found += pending
            exact = self.messages.touched(leaf, call)
            if exact is not None:
                buffers[id(leaf)] = {(a.storage, a.path, a.mode) for a in exact}
                found += exact
            if part is not Stage.NOTHING:
                found += self.by_others(leaf)
        for access in self.facts.footprint(node).accesses:
            known = buffers.get(id(access.leaf), set())
            if (access.storage, access.path, access.mode) not in known:
                found.append(access)
        return (*found, *self.place.threads.accesses(node))

    def by_others(self, leaf: Leaf) -> tuple[Access, ...]:
        """The accesses in the background while a call starts or completes a transfer."""
        return self._held.accesses(leaf)

    @cached_property
    def _held(self) -> HeldMemory:
        return HeldMemory(self.facts)


def _reason(what: str, first: Leaf, second: Leaf) -> str:
    """Why two statements do not commute."""
    return f"lines {line_of(first)} and {line_of(second)}: {what}"


def _any_order(problem: AffineProblem, then: Mapping[str, str], later: Mapping[str, str]) -> None:
    """No constraint: all pairs of iterations are compared."""
    del problem, then, later
