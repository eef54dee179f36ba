"""Paths through a control-flow graph, as witnesses: their lines, and the branches taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from asphalt.analysis.control_flow.graph import ENTRY, EXIT, STOP, ControlFlow, PointRole
from asphalt.analysis.verdicts.verdict import Mark
from asphalt.ir.records import record


@record
class Path:
    """Points of a graph, each a successor of the one before."""

    graph: ControlFlow
    points: tuple[int, ...]

    def __str__(self) -> str:
        """``line 3: the condition is false; line 7: it goes to label 10; line 12``."""
        parts: list[str] = []
        if self.points[0] == ENTRY:
            parts.append("from the entry")
        for here, there in zip(self.points, self.points[1:], strict=False):
            taken = self.graph.edge_labels.get((here, there))
            if taken is not None and here != ENTRY:
                parts.append(f"line {self.graph.points[here].line}: {taken}")
            elif taken is not None:
                parts[0] = taken
        last = self.points[-1]
        if last == EXIT:
            if not parts or not parts[-1].endswith("it returns"):
                parts.append("to the end of the procedure")
        elif last == STOP:
            if not parts or not parts[-1].endswith("the program stops"):
                parts.append("to the end of the program")
        else:
            parts.append(f"line {self.graph.points[last].line}")
        return "; ".join(parts)

    def marks(self) -> tuple[Mark, ...]:
        """The places where a branch is taken, with what happens there."""
        found: dict[tuple[int, str], Mark] = {}
        for here, there in zip(self.points, self.points[1:], strict=False):
            leaf = self.graph.points[here].leaf
            taken = self.graph.edge_labels.get((here, there))
            if taken is not None and leaf is not None and leaf.span is not None:
                found[id(leaf), taken] = Mark(leaf.span, "path", taken)
        return tuple(found.values())


def path_witness(
    graph: ControlFlow,
    starts: Iterable[int],
    targets: Collection[int],
    avoiding: Collection[int] = (),
) -> Path | None:
    """A shortest path of at least one edge from one of ``starts`` to one of ``targets`` with no
    point of ``avoiding`` in between; None: there is none.

    A start may be in ``avoiding``, and in ``targets`` (a cycle back to it).
    """
    if not targets:
        return None
    came: dict[int, int | None] = dict.fromkeys(starts)
    queue = deque(came)
    while queue:
        here = queue.popleft()
        for there in graph.successors[here]:
            if there in targets:
                return Path(graph, (*_back(here, came), there))
            if there not in came and there not in avoiding:
                came[there] = here
                queue.append(there)
    return None


def closure(
    edges: Sequence[Sequence[int]], starts: Iterable[int], without: int | None = None
) -> frozenset[int]:
    """The points to which at least one edge leads from one of ``starts``, without passing
    ``without``; ``edges``: the successors or the predecessors of each point of a graph."""
    found: set[int] = set()
    work = list(starts)
    while work:
        for target in edges[work.pop()]:
            if target not in found and target != without:
                found.add(target)
                work.append(target)
    return frozenset(found)


def leads_to(
    graph: ControlFlow,
    starts: Collection[int],
    target: int,
    avoiding: Collection[int],
    excluded: Collection[tuple[int, int]],
) -> bool:
    """Whether a path leads from one of ``starts`` to ``target``, with no point of ``avoiding`` in
    between, that takes no edge of ``excluded`` when it leaves its first point for the last time.

    The search goes backwards from ``target``: a path leaves a point that it has not met yet for the
    last time there.
    """
    tests = {here for here, _ in excluded}
    state: tuple[int, frozenset[int]] = (target, frozenset())
    seen = {state}
    work = [state]
    while work:
        there, passed = work.pop()
        for here in graph.predecessors[there]:
            if here in tests and here not in passed and (here, there) in excluded:
                continue
            if here in starts:
                return True
            state = here, passed | ({here} & tests)
            if here not in avoiding and state not in seen:
                seen.add(state)
                work.append(state)
    return False


def _back(here: int, came: dict[int, int | None]) -> tuple[int, ...]:
    points = [here]
    while (up := came[points[-1]]) is not None:
        points.append(up)
    return tuple(reversed(points))


@record
class Alternation:
    """A path through a unit on which one thing happens without the other; ``what`` says how."""

    what: str
    path: Path


def alternation(
    graph: ControlFlow, first: frozenset[int], second: frozenset[int]
) -> Alternation | None:
    """A path on which ``first`` and ``second`` do not alternate, beginning with ``first``.

    Both are sets of points that count as one step: entering the set executes it, leaving it and
    entering it again executes it twice.  None: on every path from the entry to the return they run
    equally often, the one before the other.  Paths that end in STOP do not count: a rank that stops
    does not reach the other in any case.
    """
    ends = {EXIT}
    found = path_witness(graph, [ENTRY], second, first)
    if found is not None:
        return Alternation("the second is reached without the first", found)
    for here, other, what in (
        (first, second, "the first is done without the second"),
        (second, first, "the second is done again without the first"),
    ):
        targets = set(here) | (ends if here is first else set())
        for start, there in _leaving(graph, here, other):
            if there in targets:
                return Alternation(what, Path(graph, (start, there)))
            path = path_witness(graph, [there], targets, {*other})
            if path is not None:
                return Alternation(what, Path(graph, (start, *path.points)))
    return None


def _leaving(
    graph: ControlFlow, region: frozenset[int], other: frozenset[int]
) -> list[tuple[int, int]]:
    """The edges that leave a region for a point that is not in the other, or enter it anew."""
    first = min(region)
    anew = len(region) == 1 or graph.points[first].role is PointRole.INITIAL
    return [
        (here, there)
        for here in sorted(region)
        for there in graph.successors[here]
        if (there not in region and there not in other) or (anew and there == first)
    ]
