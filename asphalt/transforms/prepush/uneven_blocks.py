"""The beginning of an exchange of blocks that differ in length (MPI_ALLTOALLV).

The schedule is that of ``schedule.uneven``; ``fortran_runtime/asphalt_uneven.f90`` executes it.
"""

from __future__ import annotations

from asphalt.analysis.exchange.per_rank import PerRank, Uneven
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.plan import Plan
from asphalt.ir.expr import Arg, Component, Ref
from asphalt.ir.tree import Leaf
from asphalt.transforms.prepush.beginning import TRUE, Beginning, keywords
from asphalt.transforms.rewriting.make import Maker, respelled, var


class UnevenBlocks(Beginning):
    """A tile is a piece of each block, or the next piece of one block and what computes it."""

    variable = var("asphalt_v")

    def __init__(self, plan: Plan, backends: tuple[str, ...], left_at_end: bool) -> None:
        super().__init__(plan, backends, left_at_end)
        assert self.layout.uneven is not None
        self.uneven: Uneven = self.layout.uneven

    def begin(self, make: Maker, site: str) -> Leaf:
        spread = None if self.uneven.spread is None else self.size(self.uneven.spread)
        slab = TRUE if self.layout.pattern is TileShape.SLAB else None
        return self.call(
            make,
            "begin_uneven",
            self.handle("comm"),
            *self.blocks(),
            *self.elements(),
            *keywords((("unit", self.integer(self.size(self.layout.unit))),)),
            *self.loop(site),
            *keywords((("slab", slab), ("spread", spread))),
            *self.guards(),
            self.name(site),
            *self.backend(site),
            *self.entered(),
        )

    def blocks(self) -> tuple[Arg, ...]:
        """Both buffers, each with its counts and displacements."""
        return (
            self.array(self.layout.send),
            self.whole_list(self.uneven.send_counts),
            self.whole_list(self.uneven.send_displacements),
            self.array(self.layout.receive),
            self.whole_list(self.uneven.receive_counts),
            self.whole_list(self.uneven.receive_displacements),
        )

    def whole_list(self, numbers: PerRank) -> Ref | Component:
        """All numbers, as the call of the program passes them."""
        named = respelled(numbers.actual, self.scope, self._own)
        assert isinstance(named, Ref | Component)
        return named
