"""Statements that are executed tile by tile: the receive and its unpacking, nests, and the send.

Before, each group is executed for all iterations in front of the next one; in tiles, the first
iterations of all groups come before the second ones of any.  That is fusion of the groups (Danalis
et al., ICS 2009, section 5: "the correctness of CCTP depends on the legality of fusion"), and right
if no two accesses to one element, one of them a write, change their order: none of an iteration of
one group and of an earlier iteration of a later group.  A message accesses its part of the buffer,
from its start to its wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from asphalt.analysis.data_flow.constant_dummies import ConstantDummies
from asphalt.analysis.data_flow.temporaries import is_dead_after, is_local
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import effect_of, is_private
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.memory.regions import Region, loop_bounds
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.analysis.tiling.equal_parts import ConstantTrips
from asphalt.ir.records import record
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves


@record
class TiledGroup:
    """A statement or construct of a list; ``call``: the one of the message in it, which comes first
    (a wait) or last (a start); ``loops``: those over the iterations, in order."""

    position: int
    node: Node
    loops: tuple[Do, ...]
    call: Leaf | None = None


@record
class _Phase:
    """What is executed once a tile: a loop over the iterations, a message, or (``loop`` None)
    expressions that each tile evaluates."""

    accesses: tuple[Access, ...]
    loop: Do | None = None
    node: Do | None = None


def group_at(position: int, node: Node, call: Leaf | None, *, first: bool) -> TiledGroup | None:
    """The group of a statement: a loop, a call, or an IF construct with a call (``first``: before
    the loops) and loops; None for other statements."""
    if call is None:
        return TiledGroup(position, node, (node,)) if isinstance(node, Do) else None
    if node is call:
        return TiledGroup(position, node, (), call)
    if not isinstance(node, Branch) or node.kind != "if" or len(node.arms) != 1:
        return None
    body = node.arms[0].body
    at, others = (0, body[1:]) if first else (-1, body[:-1])
    loops = tuple(other for other in others if isinstance(other, Do))
    if not body or body[at] is not call or len(loops) != len(others):
        return None
    return TiledGroup(position, node, loops, call)


def trips_of(loop: Do, facts: UnitFacts, dummies: ConstantDummies) -> ConstantTrips | None:
    """The iterations of a loop; None: another step, or bounds that change inside."""
    writes = tuple(a for a in facts.footprint(loop).accesses if a.writes)
    changing = frozenset(a.storage for a in writes)
    bounds = loop_bounds(loop, Region(facts.values, loop.head, changing, writes))
    if bounds is None or bounds.direction < 0:
        return None
    return ConstantTrips(dummies.replaced(bounds.first), dummies.replaced(bounds.last))


class Fusion:
    """Whether the groups of one statement list may be executed in tiles."""

    def __init__(self, facts: UnitFacts, order: Independence, dummies: ConstantDummies) -> None:
        self.facts = facts
        self.order = order
        self.dummies = dummies

    def why_not_alone(self, group: TiledGroup) -> str | None:
        """Why a group cannot be divided into tiles, whatever stands beside it."""
        fixed = self.order.place.fixed(group.node)
        if fixed is not None:
            return fixed
        for loop in group.loops:
            effect = effect_of(loop, self.facts)
            if effect is not None:
                return f"line {line_of(effect.leaf)}: {effect.kind.value} ({effect.detail})"
            variable = loop_variable(loop)
            if variable is None or not is_local(variable, self.facts):
                return (
                    f"line {line_of(loop.head)}: the variable of the loop may be accessed elsewhere"
                )
            if not is_dead_after(self.facts.names.storage(variable), loop, self.facts):
                return f"line {line_of(loop.head)}: {variable} may be read behind the loop"
        return None

    def why_not(
        self, groups: tuple[TiledGroup, ...], received: Access | None, sent: Access | None
    ) -> str | None:
        """Why the groups may not be executed in tiles, in this order: the first one waits for what
        is ``received`` in an iteration, the last one starts what is ``sent`` (each with a loop over
        the iterations; None: there is no such message)."""
        messages = frozenset(a.storage for a in (received, sent) if a is not None)
        inner = [phase for group in groups for phase in self._phases(group, messages)]
        front, behind = (
            [] if a is None else [_Phase((a,), a.loops[0])] for a in (received, sent)
        )  # fmt: skip
        phases = [*front, *inner, *behind]
        writes = tuple(a for phase in phases for a in phase.accesses if a.writes)
        changing = frozenset(a.storage for a in writes)
        start = next(leaves(groups[0].node))
        limits = (*self.order.limits.at(start), *self.dummies.equal())
        region = Region(self.facts.values, start, changing, writes, limits)
        for number, one in enumerate(phases):
            for two in phases[number + 1 :]:
                for a in one.accesses:
                    for b in two.accesses:
                        if self._changes_order(region, one, two, a, b):
                            lines = line_of(a.leaf), line_of(b.leaf)
                            return f"lines {lines[0]} and {lines[1]}: {a.object}"
        return None

    def _phases(self, group: TiledGroup, messages: frozenset[str]) -> Iterator[_Phase]:
        around: list[Access] = []
        inside: dict[int, list[Access]] = {id(loop): [] for loop in group.loops}
        for access in self.facts.footprint(group.node).accesses:
            if access.leaf is group.call and (access.writes or access.storage in messages):
                continue  # the buffer of the message, and its request
            head = next((loop for loop in group.loops if loop.head is access.leaf), None)
            if head is not None:
                if access.writes:  # the bounds are constants
                    inside[id(head)].append(access)
                continue
            loop = next((own for own in group.loops if _inside(access, own)), None)
            (around if loop is None else inside[id(loop)]).append(access)
        yield _Phase(tuple(around))
        for loop in group.loops:
            yield _Phase(tuple(inside[id(loop)]), loop, loop)

    def _changes_order(
        self, region: Region, one: _Phase, two: _Phase, a: Access, b: Access
    ) -> bool:
        """Whether there may be an element for which the order of two accesses changes."""
        if not a.conflicts(b):
            return False
        if one.node is not None and two.node is not None:
            if self._is_own(a, one.node) and self._is_own(b, two.node):
                return False
            if not a.path and self._passes_nothing_on(a.storage, one.node, two.node):
                return False
        names = tuple(
            loop_variable(phase.loop)
            for phase, access in ((one, a), (two, b))
            if phase.loop is not None and _inside(access, phase.loop)
        )

        def order(
            problem: AffineProblem, then: Mapping[str, str], later: Mapping[str, str]
        ) -> None:
            if len(names) == 2 and names[0] is not None and names[1] is not None:
                problem.compare(then[names[0]], ">", later[names[1]])

        return region.conflict(a, b, order) is not None

    def _is_own(self, access: Access, loop: Do) -> bool:
        """Whether an access is to the variable of a loop over the iterations."""
        name = loop_variable(loop)
        return name is not None and access.storage == self.facts.names.storage(name)

    def _passes_nothing_on(self, storage: str, one: Do, two: Do) -> bool:
        if self.order.is_temporary(storage, one, two):
            return True
        return all(is_private(storage, (loop,), self.facts) for loop in (one, two))


def _inside(access: Access, loop: Do) -> bool:
    """Whether a loop is the outermost one around an access."""
    return bool(access.loops) and access.loops[0] is loop
