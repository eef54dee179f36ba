"""What the statements between two others of a unit may define."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.rma_windows import has_windows
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.ir.tree import Node, leaves


class DefinedBetween:
    """Answers for one unit as it stands."""

    def __init__(self, facts: UnitFacts, messages: Messages) -> None:
        self._facts = facts
        self._messages = messages
        self._leaves = tuple(leaf for node in facts.unit.body for leaf in leaves(node))
        self._places = {id(leaf): place for place, leaf in enumerate(self._leaves)}
        self._answers: dict[tuple[int, int], tuple[Node, Node, frozenset[str]]] = {}
        self._named: dict[int, frozenset[str]] = {}
        self._buffers: dict[int, int] = {}

    def place(self, node: Node) -> int | None:
        """The number of the first line of a statement among those of the unit; None: it is none."""
        return self._places.get(id(next(leaves(node))))

    def objects(self, first: Node, second: Node) -> frozenset[str]:
        """The objects that lines between two statements may define, their own lines aside."""
        key = (id(first), id(second))
        if key not in self._answers:  # the nodes are kept, so that no other gets their ids
            self._answers[key] = (first, second, self._objects(first, second))
        return self._answers[key][2]

    def _objects(self, first: Node, second: Node) -> frozenset[str]:
        lines = (id(leaf) for node in (first, second) for leaf in leaves(node))
        own = sorted({self._places[line] for line in lines if line in self._places})
        found = 0
        for begin, end in self._gaps(own):
            found = reduce(or_, self._masks[begin:end], found)
            places = self._calls[bisect_left(self._calls, begin) : bisect_left(self._calls, end)]
            found = reduce(or_, map(self._completed, places), found)
        if found not in self._named:
            numbers = enumerate(self._numbers)
            self._named[found] = frozenset(name for n, name in numbers if found >> n & 1)
        return self._named[found]

    def _gaps(self, own: list[int]) -> Iterator[tuple[int, int]]:
        """The places between some lines, from each gap's first to behind its last; of all lines, if
        there are none of these."""
        if not own:
            yield 0, len(self._leaves)
        for place, following in pairwise(own):
            if following > place + 1:
                yield place + 1, following

    @cached_property
    def _masks(self) -> tuple[int, ...]:
        """The objects that each line itself may define, as bits (``_numbers``)."""
        found = (self._definitions.get(id(leaf), frozenset()) for leaf in self._leaves)
        return tuple(map(self._mask, found))

    @cached_property
    def _calls(self) -> list[int]:
        """The places of the calls that may define more than what they name."""
        quiet = {Stage.NOTHING}
        if not self._has_windows:
            quiet |= {Stage.START, Stage.BOTH}  # what they do not name is not complete behind them
        return [
            place
            for place, leaf in enumerate(self._leaves)
            if any(stage_of(call) not in quiet for _, call in self._messages.calls(leaf))
        ]

    @property
    def _has_windows(self) -> bool:
        """Whether other ranks may put something into memory before a message of theirs arrives."""
        return has_windows(self._facts.scope)

    def _completed(self, place: int) -> int:
        """The objects that the operations may define which a call completes."""
        if place not in self._buffers:
            leaf = self._leaves[place]
            changed = None if self._has_windows else self._messages.changed_by(leaf)
            self._buffers[place] = self._received if changed is None else self._mask(changed)
        return self._buffers[place]

    def _mask(self, names: frozenset[str]) -> int:
        return sum(1 << self._numbers.setdefault(name, len(self._numbers)) for name in names)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {}

    @cached_property
    def _definitions(self) -> dict[int, frozenset[str]]:
        found: defaultdict[int, set[str]] = defaultdict(set)
        for access in self._facts.values.footprint.accesses:
            if access.writes:
                found[id(access.leaf)].add(access.object)
        return {leaf: frozenset(objects) for leaf, objects in found.items()}

    @cached_property
    def _received(self) -> int:
        """The objects that MPI may define after the call that names them: receive buffers of the
        unit, and whatever others may have passed to MPI."""
        accesses = self._facts.reaching.accesses
        storages = {access.storage for access in self._facts.values.footprint.accesses}
        started = frozenset[str]().union(
            *(self._definitions.get(id(leaf), ()) for leaf, _ in self._messages.own_calls())
        )
        exposed = {storage for storage in storages if accesses.is_exposed(storage)}
        return self._mask(started | exposed)
