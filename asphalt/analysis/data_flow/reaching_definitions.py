"""Reaching definitions in one unit, with use-definition and definition-use chains.

A variable counts as a whole, an array with all of its elements: the definition of an element does
not kill earlier ones.  The iterative solution (Aho, Sethi, Ullman, section 10.6) is computed for
one variable at a time, on demand.  The result is an over-approximation: a definition that is not in
it certainly does not reach the point.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from asphalt.analysis.control_flow.dominance import Dominance
from asphalt.analysis.control_flow.graph import ENTRY, ControlFlow, control_flow
from asphalt.analysis.control_flow.paths import closure
from asphalt.analysis.data_flow.definitions_and_uses import UnitAccesses
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf


@record
class Definition:
    """A point that may define a storage; ``sure``: it certainly defines all of it.

    The point ENTRY (no ``leaf``) stands for the value on entry to the unit, which may be undefined.
    """

    storage: str
    point: int
    leaf: Leaf | None
    sure: bool

    @property
    def line(self) -> int:
        """The line of the statement; 0 for the entry."""
        return 0 if self.leaf is None else self.leaf.line


@record
class UsePoint:
    """A point that may read the value of a storage."""

    storage: str
    point: int
    leaf: Leaf


class ReachingDefinitions:
    """The graph of a unit and its definitions, each computed once, on demand."""

    def __init__(self, scope: Scope, effects: Effects) -> None:
        self.scope = scope
        self._effects = effects
        self._definitions: dict[str, tuple[Definition, ...]] = {}
        self._reach: dict[str, _Reaching] = {}

    def on(self, graph: ControlFlow) -> ReachingDefinitions:
        """Return the analysis of the same unit on another graph with the same points."""
        found = ReachingDefinitions(self.scope, self._effects)
        found.graph, found.accesses = graph, self.accesses
        return found

    @cached_property
    def graph(self) -> ControlFlow:
        """The control-flow graph of the unit."""
        return control_flow(self.scope.unit)

    @cached_property
    def dominance(self) -> Dominance:
        """Dominators, post-dominators and loops of the graph."""
        return Dominance(self.graph)

    @cached_property
    def accesses(self) -> UnitAccesses:
        """The definitions and uses of each point."""
        return UnitAccesses(self.graph, self.scope, self._effects)

    def definitions(self, storage: str) -> tuple[Definition, ...]:
        """Everything that may define a storage, the value on entry first.

        A definition of any part of a structure counts as one of each of its components.
        """
        storage = storage.split("%")[0]
        known = self._definitions.get(storage)
        if known is not None:
            return known
        graph, accesses = self.graph, self.accesses
        points = accesses.defining(storage) | accesses.everywhere
        if accesses.exposing - points and accesses.is_exposed(storage):
            points |= accesses.exposing
        found = [Definition(storage, ENTRY, None, True)]
        for number in sorted(points):
            sure = self._surely_defines(number, storage)
            found.append(Definition(storage, number, graph.points[number].leaf, sure))
        self._definitions[storage] = tuple(found)
        return self._definitions[storage]

    def at(self, point: int, storage: str) -> tuple[Definition, ...]:
        """The definitions of a storage that reach a point."""
        found, bits = self.definitions(storage), self._before(storage)[point]
        return tuple(d for number, d in enumerate(found) if bits >> number & 1)

    def use_def(self, point: int) -> Mapping[str, tuple[Definition, ...]]:
        """For each storage that a point may read: the definitions that reach it."""
        return {storage: self.at(point, storage) for storage in sorted(self._used(point))}

    def def_use(self, definition: Definition) -> tuple[UsePoint, ...]:
        """The points that may read the value of a definition."""
        storage = definition.storage
        bit, before = self.definitions(storage).index(definition), self._before(storage)
        accesses, points = self.accesses, self.graph.points
        reading = accesses.using(storage) | accesses.everywhere
        if accesses.is_exposed(storage):
            reading |= accesses.exposing
        return tuple(
            UsePoint(storage, number, leaf)
            for number in sorted(reading)
            if before[number] >> bit & 1 and (leaf := points[number].leaf) is not None
        )

    @cached_property
    def storages(self) -> frozenset[str]:
        """All storages that the statements of the unit name."""
        found: set[str] = set()
        for point in self.graph.points:
            done = self.accesses.at(point.number)
            found |= done.used | set(done.defined)
        return frozenset(found)

    def _used(self, point: int) -> frozenset[str]:
        done = self.accesses.at(point)
        if done.everything:
            return self.storages
        if done.exposed:
            return done.used | {s for s in self.storages if self.accesses.is_exposed(s)}
        return done.used

    def _surely_defines(self, point: int, storage: str) -> bool:
        """Whether a point that may define a storage certainly does so."""
        done = self.accesses.at(point)
        return done.defined.get(storage, False) and not done.everything

    @cached_property
    def _blocks(self) -> _BasicBlocks:
        return _BasicBlocks.of(self.graph)

    def _before(self, storage: str) -> _Reaching:
        """For each point the definitions of a storage that reach it, as bits."""
        storage = storage.split("%")[0]
        known = self._reach.get(storage)
        if known is not None:
            return known
        blocks = self._blocks
        given: dict[int, list[_Given]] = {}
        for number, one in enumerate(self.definitions(storage)[1:]):  # in the order of points
            block = blocks.at[one.point]
            if block >= 0:
                place = blocks.position[one.point]
                given.setdefault(block, []).append((place, 2 << number, one.sure))
        for own in given.values():
            own.sort()
        before = [0] * len(blocks.before)
        after = [0] * len(blocks.before)
        changed = True
        while changed:  # the points are numbered in source order: mostly two sweeps are enough
            changed = False
            for block, sources in enumerate(blocks.before):
                arriving = 0
                for source in sources:
                    arriving |= 1 if source < 0 else after[source]
                before[block] = arriving
                for _, bit, sure in given.get(block, ()):
                    arriving = bit if sure else arriving | bit
                if arriving != after[block]:
                    after[block] = arriving
                    changed = True
        self._reach[storage] = _Reaching(blocks, before, given)
        return self._reach[storage]


_Given = tuple[int, int, bool]
"""A definition in a block: its position there, its bit, and whether it is sure."""


@record
class _BasicBlocks:
    """The points of a graph to which a path leads from the entry, in runs of points of which each
    is followed by the next one alone.

    ``at``: the number of the block that a point is in, -1: none; ``position``: its place there.
    ``before``: for each block, those that may come before it, with -1 for the entry.
    """

    at: list[int]
    position: list[int]
    before: list[list[int]]

    @staticmethod
    def of(graph: ControlFlow) -> _BasicBlocks:
        """The blocks of a graph, in the order of their first points."""
        reachable = closure(graph.successors, (ENTRY,))
        at, position = [-1] * len(graph.points), [0] * len(graph.points)
        firsts: list[int] = []
        for here in sorted(reachable):
            if at[here] >= 0 or not _begins(graph, here, reachable):
                continue
            _number(graph, here, len(firsts), at, position)
            firsts.append(here)
        for here in sorted(reachable):  # rounds that nothing else enters have no first point
            if at[here] < 0:
                _number(graph, here, len(firsts), at, position)
                firsts.append(here)
        before = [
            [-1 if source == ENTRY else at[source] for source in graph.predecessors[first]
             if source == ENTRY or source in reachable]
            for first in firsts
        ]  # fmt: skip
        return _BasicBlocks(at, position, before)


def _begins(graph: ControlFlow, point: int, reachable: frozenset[int]) -> bool:
    """Whether a block begins with a point."""
    sources = graph.predecessors[point]
    if len(sources) != 1 or sources[0] not in reachable:
        return True
    return len(graph.successors[sources[0]]) != 1


def _number(graph: ControlFlow, first: int, block: int, at: list[int], position: list[int]) -> None:
    """Number the points of the block that begins with a point."""
    here, place = first, 0
    while at[here] < 0:
        at[here], position[here] = block, place
        following = graph.successors[here]
        if len(following) != 1 or len(graph.predecessors[following[0]]) != 1:
            return
        here, place = following[0], place + 1


@record
class _Reaching:
    """The definitions of a storage that reach points, as bits: those that reach a block, and what
    is defined in it."""

    blocks: _BasicBlocks
    before: list[int]
    given: dict[int, list[_Given]]

    def __getitem__(self, point: int) -> int:
        block = self.blocks.at[point]
        if block < 0:
            return 0
        found, place = self.before[block], self.blocks.position[point]
        for where, bit, sure in self.given.get(block, ()):
            if where >= place:
                break
            found = bit if sure else found | bit
        return found
