"""What is seen of a program from outside, and in which order its messages put it.

A message orders what its sender has done before and what its receiver does later; several, one
after the other, also what ranks do that are no neighbours.  With fewer messages less is ordered.
That matters where something is seen both before and behind them: output in turn, or a file that one
rank writes and another one reads.  A barrier of all ranks orders it all the same, and so does a
collective operation whose result on each rank needs what all ranks give (MPI-4.0 sections 6.7 to
6.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import is_barrier
from asphalt.analysis.names.constants import constant

_UNSEEN = frozenset(
    {EffectKind.MPI, EffectKind.JUMP, EffectKind.STOP, EffectKind.CLOCK, EffectKind.ALLOCATION,
     EffectKind.POINTER, EffectKind.STATE, EffectKind.ASSUMED}
)  # fmt: skip

_OF_ALL = {
    "mpi_allreduce": ("count",),
    "mpi_allgather": ("sendcount", "recvcount"),
    "mpi_alltoall": ("sendcount", "recvcount"),
}
"""Operations that need something of all ranks where these counts are positive."""


class ObservedOrder:
    """The statements of a main program, with all that they call."""

    def __init__(self, main: UnitFacts) -> None:
        self.main = main

    def why_ordered(self, starts: frozenset[int], ends: frozenset[int]) -> str | None:
        """What may be seen in another order if fewer messages are sent from the points ``starts``
        to the points ``ends``; None: nothing."""
        graph = self.main.reaching.graph
        before = self._without_barrier(graph.predecessors, starts) & self._seen
        behind = self._without_barrier(graph.successors, ends) & self._seen
        inside = (starts | ends) & self._seen
        if not inside and not (before and behind):
            return None
        first, last = min(before | inside), max(behind | inside)
        lines = (self.main.at(graph.points[point].line) for point in (first, last))
        return f"its messages may order what is seen of {' and '.join(dict.fromkeys(lines))}"

    def _without_barrier(
        self, edges: Sequence[Sequence[int]], starts: Iterable[int]
    ) -> frozenset[int]:
        """The points to which edges lead without passing a barrier of all ranks."""
        found: set[int] = set()
        work = list(starts)
        while work:
            for target in edges[work.pop()]:
                if target not in found and target not in self._barriers:
                    found.add(target)
                    work.append(target)
        return frozenset(found)

    @cached_property
    def _seen(self) -> frozenset[int]:
        """The points that do something that is seen, as far as it is known."""
        accesses = self.main.reaching.accesses
        return frozenset(
            point.number
            for point in self.main.reaching.graph.points
            if any(e.kind not in _UNSEEN for e in accesses.footprint(point.number).effects)
        )

    @cached_property
    def _barriers(self) -> frozenset[int]:
        """The points that no rank leaves before all ranks have come there."""
        found: set[int] = set()
        for leaf, call in self.main.once(Messages).own_calls():
            comm = call.args.get("comm")
            point = self.main.reaching.graph.action(leaf)
            if point is None or comm is None or not self._needs_all(call):
                continue
            if mpi_constant(comm, self.main.scope) == "mpi_comm_world":
                found.add(point)
        return frozenset(found)

    def _needs_all(self, call: MpiCall) -> bool:
        """Whether a call returns on a rank only after all ranks have called it."""
        counts = _OF_ALL.get(call.procedure.name)
        if counts is None:
            return is_barrier(call.procedure)
        given = [call.args.get(name) for name in counts]
        values = [None if one is None else constant(one, self.main.scope) for one in given]
        return all(value is not None and value > 0 for value in values)
