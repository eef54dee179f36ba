"""The statements of a unit that came from one inlined call, and whether they can stand together.

Each pair of statements of a list may have the order of the unit before all steps, or that of the
unit as it stands: what the steps have exchanged commutes.  Only for a pair that would have neither
is it asked whether it commutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.inlining.plan import Inlining
from asphalt.analysis.inlining.replacement import Renamed
from asphalt.analysis.inlining.split_phase import positions
from asphalt.analysis.messages.messages import Stage, stage_of
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.intrinsics import may_be_intrinsic
from asphalt.analysis.names.references import named_by
from asphalt.config.runtime import offering
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, Plain
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.rewriting.new_names import REQUEST

_OWN_LINES = (TriviaKind.BLANK, TriviaKind.COMMENT)


@record
class Came:
    """Where a statement came from: the line in the unit before all steps, which is that of the call
    if its procedure was inlined: how, and the line in the procedure."""

    line: int
    plan: Inlining | None = None
    inside: int = 0


_Part = tuple[int, Stage]
"""A line of a procedure, and the stages of transfers that a statement made of it performs."""


@dataclass(frozen=True)
class Procedure:
    """A procedure whose phases are looked for.

    ``given``: its statements; ``facts``: as its versions have them, with its blocking transfers
    taken apart; ``line``: that of the given statement that a statement of these came from.
    ``emitted``: the same, with arrays of requests.
    """

    given: tuple[Leaf, ...]
    facts: UnitFacts
    line: Callable[[Leaf], int | None]
    emitted: UnitFacts

    @classmethod
    def as_given(cls, facts: UnitFacts) -> Procedure:
        """A procedure that has no blocking transfers."""
        own = tuple(leaf for node in facts.unit.body for leaf in leaves(node))
        return cls(own, facts, lambda leaf: leaf.line, facts)

    def positions(self) -> Iterator[int]:
        """Where its second phase may begin; one wait for several makes all behind it uncertain."""
        found = positions(self.facts)
        return islice(found, 1) if self.emitted is not self.facts else found


Origin = Callable[[Leaf], Came | None]
"""Where the statements of a unit came from; None: not known."""


@dataclass(frozen=True)
class InlinedCall:
    """What one inlined call has become: statements among the ``siblings`` of the list at ``path``.

    ``line``: of the call in the unit before all steps.  ``parts``: the lines of the procedure that
    each of these statements came from, with the stages of transfers, by identity.  ``places``: the
    places that the statements of the list had in that unit, by identity, as far as they stood in
    one list with the call.
    """

    facts: UnitFacts
    plan: Inlining
    line: int
    path: tuple[int, ...]
    siblings: tuple[Node, ...]
    parts: dict[int, frozenset[_Part]] = field(compare=False)
    places: dict[int, int] = field(compare=False)

    def halves(
        self, procedure: Procedure, position: int
    ) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
        """Its statements, in two halves: those in front of the one at ``position`` of the
        procedure, and the others.  None: they are not, all and each once, in these halves, or not
        those of the procedure any more."""
        own = tuple(leaf for node in self.plan.callee.unit.body for leaf in leaves(node))
        given = procedure.given
        if [leaf.what for leaf in given] != [leaf.what for leaf in own]:
            return None
        here = {leaf.line: other.line for leaf, other in zip(given, own, strict=True)}
        parts: list[set[_Part]] = [set(), set()]
        doing: list[set[_Part]] = [set(), set()]
        for number, node in enumerate(procedure.facts.unit.body):
            which = int(number >= position)
            for leaf in leaves(node):
                part = here.get(procedure.line(leaf) or 0, 0), _stage(leaf, procedure.facts)
                parts[which].add(part)
                doing[which] |= {part} if _does(leaf) else set()
        halves: list[list[Node]] = [[], []]
        seen: list[set[_Part]] = [set(), set()]
        for node in self.siblings:
            mine = self.parts.get(id(node))
            if mine is None:
                continue
            fitting = next((n for n, part in enumerate(parts) if mine <= part), None)
            if fitting is None:
                return None
            halves[fitting].append(node)
            seen[fitting] |= mine
        if any(not need <= found for need, found in zip(doing, seen, strict=True)):
            return None
        if not halves[0] or not halves[1] or not self._is_the_same(own):
            return None
        return tuple(halves[0]), tuple(halves[1])

    def _is_the_same(self, own: Sequence[Leaf]) -> bool:
        """Whether the statements name what those of the procedure name, and requests."""
        expected: dict[int, frozenset[str]] = {}
        for leaf in own:
            try:
                what = mapped_what(leaf.what, self.plan.change, lambda n: n)
            except NotMappedError:
                return False
            named = named_by(what)
            if named is None:
                return False
            expected[leaf.line] = expected.get(leaf.line, frozenset()) | named
        for node in self.siblings:
            parts = self.parts.get(id(node), frozenset())
            known = frozenset[str]().union(*(expected.get(line, frozenset()) for line, _ in parts))
            for leaf in leaves(node) if parts else ():
                named = named_by(leaf.what)
                plain = all(entry.kind in _OWN_LINES for entry in leaf.lead)
                if named is None or not plain or leaf.label is not None or leaf.frozen:
                    return False
                if any(not self._is_new(name) for name in named - known):
                    return False
        return True

    def _is_new(self, name: str) -> bool:
        """Whether a name belongs to MPI, to the runtime or to Fortran, or is that of a request."""
        if name.startswith((REQUEST, "mpi_")) or name in offering():
            return True
        return may_be_intrinsic(name) and name not in self.facts.scope.own

    def gathered(
        self, nodes: tuple[Node, ...], members: Collection[Node], *, last: bool
    ) -> tuple[Node, ...] | None:
        """A list with some of its statements together, at the first place where they can be, or at
        the ``last`` one; None: they can be at none."""
        own = {id(node) for node in members}
        places = [place for place, node in enumerate(nodes) if id(node) in own]
        for place in reversed(places) if last else places:
            found = self._around(nodes, own, place)
            if found is not None:
                return found
        return None

    def _around(
        self, nodes: tuple[Node, ...], own: Collection[int], place: int
    ) -> tuple[Node, ...] | None:
        """A list with the statements ``own`` next to the one at a place; None: one cannot go
        there."""
        before: list[Node] = []
        behind: list[Node] = []
        members: list[Node] = []
        for node in nodes[:place]:
            if id(node) in own:
                members.append(node)
            elif not all(self._may_pass(one, node) for one in members):
                return None
            else:
                before.append(node)
        for node in nodes[place:]:
            if id(node) not in own:
                behind.append(node)
            elif not all(self._may_pass(one, node) for one in behind):
                return None
            else:
                members.append(node)
        return (*before, *members, *behind)

    def _may_pass(self, first: Node, second: Node) -> bool:
        """Whether the second one of two statements may be executed before the first one."""
        places = [self.places.get(id(node)) for node in (first, second)]
        if places[0] is not None and places[1] is not None and places[0] > places[1]:
            return True
        return self.facts.once(Independence.of).why_not(first, second) is None

    def name(self, local: str) -> str | None:
        """The caller's name of a local variable of the procedure; None: it has none."""
        found = self.plan.names.get(local)
        if isinstance(found, Renamed):
            return found.spelled
        return next((new for new, one in self.plan.needed.variables if one.name == local), None)

    @property
    def variables(self) -> frozenset[str]:
        """The variables that the caller has for it alone, folded."""
        return frozenset(new.lower() for new, _ in self.plan.needed.variables)


def given_call(given: Unit, line: int, plan: Inlining) -> Leaf | None:
    """The call in a line of the unit before all steps that was inlined; None: that line has others,
    or it was another call when it was inlined."""
    own = (leaf for node in given.body for leaf in leaves(node))
    found = [leaf for leaf in own if leaf.line == line and leaf.call is not None]
    return found[0] if len(found) == 1 and found[0].what == plan.call.what else None


def inlined_calls(facts: UnitFacts, given: Unit, came: Origin) -> Iterator[InlinedCall]:
    """The inlined calls of a unit whose statements stand in one list, each as a whole; ``given``:
    the unit before all steps."""
    found = {id(leaf): came(leaf) for node in facts.unit.body for leaf in leaves(node)}
    number = Counter(id(one.plan) for one in found.values() if one is not None and one.plan)
    plans = {id(one.plan): one for one in found.values() if one is not None}
    for path, siblings in lists_in(facts.unit.body):
        here: dict[int, dict[int, frozenset[_Part]]] = {}
        for node in siblings:
            own = [(found[id(leaf)], _stage(leaf, facts)) for leaf in leaves(node)]
            kinds = {None if one is None or one.plan is None else id(one.plan) for one, _ in own}
            if len(kinds) == 1 and (plan := kinds.pop()) is not None:
                parts = frozenset((one.inside, stage) for one, stage in own if one is not None)
                here.setdefault(plan, {})[id(node)] = parts
        for plan, own_parts in here.items():
            total = sum(1 for n in siblings if id(n) in own_parts for _ in leaves(n))
            first = plans[plan]
            if total == number[plan] and first.plan is not None and not first.plan.before:
                places = _places(siblings, given, first.line, found)
                yield InlinedCall(facts, first.plan, first.line, path, siblings, own_parts, places)


def _places(
    siblings: tuple[Node, ...], given: Unit, call: int, found: Mapping[int, Came | None]
) -> dict[int, int]:
    """The places that statements had in the list of the given unit in which a call stands; those of
    which a part stands in another list now, as the first turn of a loop does, have none."""
    number: dict[int, int] = {}
    for _, nodes in lists_in(given.body):
        if any(isinstance(node, Leaf) and node.line == call for node in nodes):
            number = {leaf.line: n for n, node in enumerate(nodes) for leaf in leaves(node)}
    plans = {(one.line, id(one.plan)) for one in found.values() if one is not None and one.plan}
    calls = Counter(line for line, _ in plans)
    if calls[call] > 1:  # of a loop that is unrolled: which turn is it?
        return {}

    def place_of(one: Came | None) -> int | None:
        if one is None or calls[one.line] > 1:
            return None
        if one.plan is None and one.line in calls:  # memory for inlined statements
            return None
        return number.get(one.line)

    now: dict[int, int] = {}
    of_list: Counter[int] = Counter()
    for node in siblings:
        places = [place_of(found[id(leaf)]) for leaf in leaves(node)]
        of_list.update(place for place in places if place is not None)
        if places and places[0] is not None and len(set(places)) == 1:
            now[id(node)] = places[0]
    of_all = Counter(place for one in found.values() if (place := place_of(one)) is not None)
    return {node: place for node, place in now.items() if of_list[place] == of_all[place]}


def _stage(leaf: Leaf, facts: UnitFacts) -> Stage:
    """The stages of transfers that a statement performs."""
    call = None if leaf.call is None else mpi_call(leaf.call, facts.scope)
    return Stage.NOTHING if call is None else stage_of(call)


def _does(leaf: Leaf) -> bool:
    """Whether a statement does something, and does not only tell where others belong."""
    if isinstance(leaf.what, Plain):
        return not leaf.what.keyword.startswith(("end", "continue"))
    return not isinstance(leaf.what, ArmHead)
