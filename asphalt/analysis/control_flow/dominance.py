"""Dominators, post-dominators and natural loops of a directed graph.

A graph is its successors by node number.  The dominator tree is computed with the iterative
algorithm of Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001); natural loops
are those of its back edges (Aho, Sethi, Ullman, section 10.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from asphalt.analysis.control_flow.graph import ENTRY, EXIT, STOP, ControlFlow
from asphalt.ir.records import record

Successors = Sequence[Sequence[int]]


def reversed_postorder(successors: Successors, root: int) -> list[int]:
    """The nodes that ``root`` reaches, each before its successors where there is no cycle."""
    seen = {root}
    order: list[int] = []
    stack = [(root, iter(successors[root]))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]


def predecessors_of(successors: Successors) -> tuple[tuple[int, ...], ...]:
    """Reverse the edges."""
    before: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in targets:
            before[target].append(node)
    return tuple(tuple(found) for found in before)


def immediate_dominators(successors: Successors, root: int) -> tuple[int | None, ...]:
    """The immediate dominator of each node; that of the root is the root, None: not reached."""
    order = reversed_postorder(successors, root)
    rank = {node: number for number, node in enumerate(order)}
    before = predecessors_of(successors)
    found: list[int | None] = [None] * len(successors)
    found[root] = root

    def meet(a: int, b: int) -> int:
        while a != b:
            while rank[a] > rank[b]:
                up = found[a]
                assert up is not None
                a = up
            while rank[b] > rank[a]:
                up = found[b]
                assert up is not None
                b = up
        return a

    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best: int | None = None
            for source in before[node]:
                if source in rank and found[source] is not None:
                    best = source if best is None else meet(source, best)
            if found[node] != best:
                found[node] = best
                changed = True
    return tuple(found)


class DominatorTree:
    """Which nodes are on every path from the root to a node."""

    def __init__(self, successors: Successors, root: int) -> None:
        self.root = root
        self.immediate = immediate_dominators(successors, root)
        children: list[list[int]] = [[] for _ in successors]
        for node, parent in enumerate(self.immediate):
            if parent is not None and node != root:
                children[parent].append(node)
        self._enter: dict[int, int] = {}
        self._leave: dict[int, int] = {}
        clock = 0
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            clock += 1
            if done:
                self._leave[node] = clock
                continue
            self._enter[node] = clock
            stack.append((node, True))
            stack += [(child, False) for child in children[node]]

    def reached(self, node: int) -> bool:
        """Whether there is a path from the root to the node."""
        return node in self._enter

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the root to ``b`` goes through ``a`` (every node dominates
        itself).  False where one of them is not reached."""
        if a not in self._enter or b not in self._enter:
            return False
        return self._enter[a] <= self._enter[b] and self._leave[b] <= self._leave[a]


@record
class NaturalLoop:
    """The nodes of all back edges to one header, the header included."""

    header: int
    nodes: frozenset[int]


class Dominance:
    """Dominators, post-dominators and loops of a unit's graph, each computed on demand.

    STOP is not a path to the exit, because a rank that stops reaches nothing else; except in
    ``post_dominators_with_stop``.
    """

    def __init__(self, graph: ControlFlow) -> None:
        self.graph = graph

    @cached_property
    def dominators(self) -> DominatorTree:
        """From the entry."""
        return DominatorTree(self.graph.successors, ENTRY)

    @cached_property
    def post_dominators(self) -> DominatorTree:
        """From the exit, backwards; points that cannot return are not reached."""
        return DominatorTree(self.graph.predecessors, EXIT)

    @cached_property
    def post_dominators_with_stop(self) -> DominatorTree:
        """From all ends, backwards: STOP counts as a path to the exit."""
        stopping = [list(targets) for targets in self.graph.predecessors]
        stopping[EXIT] = [*stopping[EXIT], STOP]
        return DominatorTree(stopping, EXIT)

    @cached_property
    def loops(self) -> tuple[NaturalLoop, ...]:
        """All natural loops, outer ones before inner ones."""
        before = self.graph.predecessors
        bodies: dict[int, set[int]] = {}
        for tail, targets in enumerate(self.graph.successors):
            for header in targets:
                if not self.dominators.dominates(header, tail):
                    continue
                body = bodies.setdefault(header, {header})
                work = [tail]
                while work:
                    node = work.pop()
                    if node not in body and self.dominators.reached(node):
                        body.add(node)
                        work += before[node]
        found = [NaturalLoop(header, frozenset(body)) for header, body in bodies.items()]
        return tuple(sorted(found, key=lambda loop: (-len(loop.nodes), loop.header)))

    def innermost_loop(self, node: int) -> NaturalLoop | None:
        """The smallest natural loop that holds the node."""
        holding = [loop for loop in self.loops if node in loop.nodes]
        return holding[-1] if holding else None

    @cached_property
    def reducible(self) -> bool:
        """Whether every cycle is a natural loop: none has two entries."""
        order = reversed_postorder(self.graph.successors, ENTRY)
        forward: list[list[int]] = [[] for _ in self.graph.successors]
        for source in order:
            for target in self.graph.successors[source]:
                if not self.dominators.dominates(target, source):
                    forward[source].append(target)
        return not _has_cycle(forward, order)

    def control_equivalent(self, a: int, b: int) -> bool:
        """Whether ``a`` dominates ``b``, ``b`` post-dominates ``a``, and both have the same
        innermost loop.

        That does not imply that they run equally often: within the loop, one may be repeated
        without the other (``10 a; if (c) goto 10; b``).  ``paths.alternation`` answers that
        question exactly.
        """
        return (
            self.dominators.dominates(a, b)
            and self.post_dominators.dominates(b, a)
            and self.innermost_loop(a) == self.innermost_loop(b)
        )


def _has_cycle(successors: Successors, nodes: Sequence[int]) -> bool:
    count = dict.fromkeys(nodes, 0)
    for node in nodes:
        for target in successors[node]:
            count[target] += 1
    work = [node for node in nodes if count[node] == 0]
    left = len(nodes)
    while work:
        node = work.pop()
        left -= 1
        for target in successors[node]:
            count[target] -= 1
            if count[target] == 0:
                work.append(target)
    return left > 0
