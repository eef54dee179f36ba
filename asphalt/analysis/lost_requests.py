"""Requests that are lost whatever the conditions on the way turn out to be.

A way without completion is an error only if it can be taken.  What its branches decide is not
known, so only such ways count that leave nothing to decide.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

from asphalt.analysis.accesses import EffectKind
from asphalt.analysis.control_flow import EXIT, ControlFlow
from asphalt.analysis.mpi_library_rows import ABORTING
from asphalt.analysis.paths import Path, path_witness
from asphalt.analysis.reaching import ReachingDefinitions
from asphalt.analysis.request_operations import Operation
from asphalt.analysis.values import Values
from asphalt.ir.stmt import DoHead, What
from asphalt.ir.tree import Do


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
    ) -> Path | None:
        """A way from a start to one of ``ends`` that leaves nothing to decide; None: there is none.

        Either nothing that may complete the operation is reached on any way to the return, or the
        way to the next start with the same request has no branch but that counted loops go on.
        ``graph``: without the ways that contradict what holds at the start.
        """
        stopping = self._stopping
        if EXIT in ends and path_witness(graph, [start.point], completing, ends) is None:
            return path_witness(graph, [start.point], ends, stopping)
        heads = {
            graph.of(loop.head)[-1]
            for loop in self._loops
            if any(loop is around for around in start.loops)
            or not (graph.inside(loop) & completing)
        }
        branches = {n for n, after in enumerate(graph.successors) if len(after) > 1} - heads
        return path_witness(graph, [start.point], ends - {EXIT}, completing | branches | stopping)

    def to_the_end(self, start: Operation, graph: ControlFlow) -> Path | None:
        """A way from a start to the return on which nothing stops the program."""
        return path_witness(graph, [start.point], {EXIT}, self._stopping)

    @cached_property
    def _stopping(self) -> frozenset[int]:
        points = self.reaching.graph.points
        return frozenset(point.number for point in points if self._stops(point.number))

    @cached_property
    def _loops(self) -> tuple[Do, ...]:
        """The counted loops of the unit, without those that are known to have one iteration."""
        around = (node for point in self.reaching.graph.points for node in point.around)
        found = {id(node): node for node in around if isinstance(node, Do)}
        return tuple(loop for loop in found.values() if self._may_repeat(loop.head.what))

    def _may_repeat(self, head: What) -> bool:
        if not isinstance(head, DoHead) or head.kind != "count":
            return False
        ends = [self.values.constants(e).value for e in (head.first, head.last) if e is not None]
        return len(ends) < 2 or None in ends or ends[0] != ends[1]

    def _stops(self, point: int) -> bool:
        """Whether control may not come out of a statement: an operation that is in progress when
        the program is aborted is no error (MPI-4.0 section 9.3.5)."""
        return any(
            effect.kind in (EffectKind.STOP, EffectKind.UNKNOWN_CALL)
            or (effect.kind is EffectKind.MPI and effect.detail == ABORTING)
            for effect in self.reaching.accesses.footprint(point).effects
        )
