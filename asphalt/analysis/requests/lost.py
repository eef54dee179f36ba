"""Requests that are lost whatever the conditions on the path are.

A path without completion is an error only if it is feasible.  The outcome of its branches is
unknown, so that only paths without a choice count.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise

from asphalt.analysis.control_flow.graph import ENTRY, EXIT, ControlFlow
from asphalt.analysis.control_flow.paths import Path, closure, path_witness
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.repeated_loops import SecondIteration, second_iteration
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.procedures import procedures_with
from asphalt.analysis.mpi.standard.row import ABORTS, FINALIZES
from asphalt.analysis.requests.operations import Operation
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Jump, JumpKind
from asphalt.ir.tree import Do


@record
class Loss:
    """A path on which a request is lost; ``loop``: if this loop has more than one iteration."""

    path: Path
    loop: Do | None = None

    @property
    def condition(self) -> str:
        """The condition of the loss, as the end of a sentence."""
        span = None if self.loop is None else self.loop.head.span
        return "" if span is None else f", if the loop of line {span.first} has a second iteration"


class Losses:
    """The question about the starts of one unit."""

    def __init__(self, values: Values, reaching: ReachingDefinitions) -> None:
        self.values = values
        self.reaching = reaching

    def certain(
        self,
        start: Operation,
        graph: ControlFlow,
        ends: AbstractSet[int],
        completing: AbstractSet[int],
    ) -> Loss | None:
        """A path without a choice from a start to one of ``ends``; None: there is none.

        Either no path to the return reaches a possible completion of the operation; or the path to
        the next start with the same request has no branch except that counted loops continue: those
        around the start with a second iteration, or with one as soon as the variable in their
        bounds is large enough.  ``graph``: without the edges that contradict what holds at the
        start.
        """
        leaves = ends & self.leaving
        if leaves and path_witness(graph, [start.point], completing, ends) is None:
            found = path_witness(graph, [start.point], ends, self._stopping)
            return None if found is None else Loss(found)
        passed = [
            loop
            for loop in self._loops
            if all(loop is not around for around in start.loops)
            and not (graph.inside(loop) & completing)
        ]
        sizes: list[Do] = []
        for answer in (SecondIteration.CERTAINLY, SecondIteration.WITH_SOME_SIZE):
            sizes += [loop for loop in start.loops if second_iteration(loop, self.values) is answer]
            heads = {graph.of(loop.head)[-1] for loop in (*passed, *sizes)}
            branches = {n for n, after in enumerate(graph.successors) if len(after) > 1} - heads
            avoiding = completing | branches | self._stopping
            found = path_witness(graph, [start.point], ends - leaves, avoiding)
            if found is not None:
                return Loss(found, self._deciding(found, sizes, answer))
        return None

    @staticmethod
    def _deciding(path: Path, loops: list[Do], answer: SecondIteration) -> Do | None:
        """The innermost loop whose continuation the path needs, if it is not certain."""
        if answer is SecondIteration.CERTAINLY:
            return None
        return next((n for n in loops[::-1] if path.graph.of(n.head)[-1] in path.points), None)

    def to_the_end(self, start: Operation, graph: ControlFlow) -> Path | None:
        """A path from a start to the return on which nothing stops the program."""
        return path_witness(graph, [start.point], self.leaving, self._stopping)

    def doubtful(self, reason: str, completions: Iterable[Operation], way: Path) -> str:
        """Why it is not known whether a request is lost, as ``reason`` says, on a path that leads
        past its completions."""
        points = {end.point for end in completions}
        lines = dict.fromkeys(f"line {end.line}" for end in completions)
        path = f"a path whose conditions may hold ({self._choices(way, points)})"
        if not lines:
            return f"{reason} on {path}"
        verb = "complete" if len(lines) > 1 else "completes"
        return f"{' and '.join(lines)} {verb} it, but {reason} on {path}"

    @staticmethod
    def _choices(way: Path, targets: AbstractSet[int]) -> str:
        """The decisions of a path without which control may come to one of some points in the same
        iteration of the loops around it, and behind which it does not."""
        graph, told = way.graph, list[str]()
        forwards = [[p for p in ps if p < n] for n, ps in enumerate(graph.predecessors)]
        before = closure(forwards, targets) | targets
        for here, there in pairwise(way.points):
            label = graph.edge_labels.get((here, there))
            others = {n for n in graph.successors[here] if n != there}
            if label is not None and others & before and there not in before:
                told.append(f"line {graph.points[here].line}: {label}")
        return "; ".join(told) or str(way)

    @cached_property
    def leaving(self) -> frozenset[int]:
        """The points at which control leaves the unit and the program ends, or continues."""
        return leaving(self.reaching)

    @cached_property
    def _stopping(self) -> frozenset[int]:
        return stopping(self.reaching)

    @cached_property
    def _loops(self) -> tuple[Do, ...]:
        """The counted loops of the unit."""
        around = (node for point in self.reaching.graph.points for node in point.around)
        found = {id(node): node for node in around if isinstance(node, Do)}
        return tuple(
            loop for loop in found.values() if getattr(loop.head.what, "kind", "") == "count"
        )


def leaving(reaching: ReachingDefinitions) -> frozenset[int]:
    """The points at which control leaves a unit and later calls may not complete its operations:
    its return, and each STOP after a call of MPI_Finalize (MPI-4.0 section 11.2.2)."""
    graph = reaching.graph
    final = {
        point.number
        for point in graph.points
        if isinstance(point.what, Call)
        and (call := mpi_call(point.what, reaching.scope)) is not None
        and FINALIZES in call.procedure.facts
    }
    stops = {
        point.number
        for point in graph.points
        if isinstance(point.what, Jump) and point.what.kind is JumpKind.STOP
    }
    behind = (n for n in stops if path_witness(graph, [ENTRY], {n}, final) is None)
    return frozenset({EXIT, *(behind if final else ())})


def stopping(reaching: ReachingDefinitions) -> frozenset[int]:
    """The points from which control may not continue: an operation that is in progress when the
    program is aborted is no error (MPI-4.0 section 11.4.2)."""
    return frozenset(
        point.number
        for point in reaching.graph.points
        if any(
            effect.kind in (EffectKind.STOP, EffectKind.UNKNOWN_CALL)
            or (effect.kind is EffectKind.MPI and effect.detail in procedures_with(ABORTS))
            for effect in reaching.accesses.footprint(point.number).effects
        )
    )
