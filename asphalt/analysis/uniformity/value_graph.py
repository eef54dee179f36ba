"""A graph of values: the level of a node is the highest of its own and of those it depends on.

The levels are a least fixpoint, so that recursion needs no special case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum

from asphalt.analysis.call_graph.call_sites import CallingContext
from asphalt.ir.records import record

_MANY_NODES = 20000
_MANY_UNITS = 40
_MANY_FAR = 400
ALL = -1  # no place: all definitions count


class Level(IntEnum):
    """Whether all ranks have the same value."""

    UNIFORM = 0
    UNKNOWN = 1
    VARYING = 2


@record
class Variable:
    """A variable of a unit at the statement with the position ``place`` (-1: at any time).

    ``path``: the component; (): all of it.
    """

    context: CallingContext
    name: str
    place: int
    path: tuple[str, ...] = ()


@record
class Reachability:
    """Whether control reaches a statement from the start of the program."""

    context: CallingContext
    position: int


@record
class Control:
    """Whether control reaches a statement within one execution of its unit."""

    context: CallingContext
    position: int


Node = Variable | Reachability | Control


@dataclass(slots=True)
class Facts:
    """The nodes and facts that one node depends on.

    ``cap``: its level is at most this.  ``assumed``: the assumptions that this needs.  ``shapes``:
    the allocated arrays whose shapes are among the facts.
    """

    level: Level = Level.UNIFORM
    reasons: dict[str, Level] = field(default_factory=dict)
    depends: dict[Node, None] = field(default_factory=dict)
    cap: Level = Level.VARYING
    assumed: dict[str, None] = field(default_factory=dict)
    shapes: set[tuple[object, str]] = field(default_factory=set)

    def note(self, level: Level, reason: str) -> None:
        """Raise the level of the node itself to at least this."""
        self.level = max(self.level, level)
        self.reasons.setdefault(reason, level)

    def include(self, other: Facts) -> None:
        """Add what other facts say, in their order."""
        self.level = max(self.level, other.level)
        for reason, level in other.reasons.items():
            self.reasons.setdefault(reason, level)
        self.depends |= other.depends
        self.assumed |= other.assumed
        self.shapes |= other.shapes

    def assume(self, assumption: str, reason: str) -> None:
        """Note that the node needs an assumption."""
        self.assumed[assumption] = None
        self.note(Level.UNIFORM, reason)


class ValueGraph(ABC):
    """Nodes are built on demand."""

    def __init__(self) -> None:
        self.facts: dict[Node, Facts] = {}
        self._provisional: list[Node] = []

    @abstractmethod
    def _build(self, node: Node, facts: Facts) -> None:
        """Add the dependences of a node."""

    @abstractmethod
    def _is_far(self, node: Node) -> bool:
        """Whether the dependences of the node are in other units."""

    def complete(self, start: Facts) -> None:
        """Find the level of ``start``, and of the nodes on which it depends as far as they matter.

        Nodes with dependences in other units come last, and not at all once nothing can be proved;
        nodes that then remain are discarded before the next question, and so are all that were
        begun if an error ends this one.
        """
        for node in self._provisional:
            self.facts.pop(node, None)
        near: deque[Node] = deque()
        far: deque[Node] = deque()
        added: list[Node] = []
        self._provisional, all_known = added, True

        def follow(facts: Facts) -> None:
            for node in facts.depends:
                if node not in self.facts:
                    (far if self._is_far(node) else near).append(node)

        follow(start)
        worst = max([start.level, *(self.facts[n].level for n in start.depends if n in self.facts)])
        followed: set[object] = set()  # a variable counts once, wherever it is read
        units: set[object] = set()  # that have been looked up
        while near or far:
            node = near.popleft() if near else far.popleft()
            if node in self.facts:
                continue
            facts = self.facts[node] = Facts()
            added.append(node)
            distant = self._is_far(node)
            if distant:
                followed.add((node.context.key, getattr(node, "name", node)))
            units |= {node.context.key} if distant else set()
            if len(self.facts) > _MANY_NODES or (distant and worst > Level.UNIFORM):
                facts.level = Level.UNKNOWN
                all_known = False
            elif len(followed) > _MANY_FAR or len(units) > _MANY_UNITS:
                facts.note(Level.UNKNOWN, "it depends on too many units")
                all_known = False
            else:
                self._build(node, facts)
                facts.level = min(facts.cap, facts.level)
                follow(facts)
            known = (self.facts[n].level for n in facts.depends if n in self.facts)
            worst = max([worst, facts.level, *known])
        self._settle(added)
        self._raise(start)
        if all_known:
            self._provisional = []

    def _settle(self, added: list[Node]) -> None:
        users: dict[Node, list[Node]] = {}
        for node in added:
            for used in self.facts[node].depends:
                users.setdefault(used, []).append(node)
        waiting = list(added)
        while waiting:
            node = waiting.pop()
            if self._raise(self.facts[node]):
                waiting += users.get(node, [])

    def _raise(self, facts: Facts) -> bool:
        levels = [self.facts[node].level for node in facts.depends]
        level = min(facts.cap, max([facts.level, *levels]))
        changed, facts.level = level != facts.level, level
        return changed
