"""Which messages a plan's pattern needs."""

from __future__ import annotations

from asphalt.analysis.plan import Plan
from asphalt.analysis.schedule import Shape as Pattern
from asphalt.transforms.pieces import Pieces
from asphalt.transforms.pieces_block import EveryBlock
from asphalt.transforms.pieces_slab import Slab
from asphalt.transforms.pieces_uneven import UnevenBlocks, UnevenSlab
from asphalt.transforms.pieces_window import EveryBlockWindow, SlabWindow


def pieces_of(plan: Plan) -> Pieces:
    """The messages of a plan."""
    uneven = plan.layout.uneven is not None
    match plan.layout.pattern:
        case Pattern.EVERY_BLOCK:
            if uneven:
                return UnevenBlocks(plan)
            return EveryBlock(plan) if plan.layout.window is None else EveryBlockWindow(plan)
        case Pattern.SLAB:
            if uneven:
                return UnevenSlab(plan)
            return Slab(plan) if plan.layout.window is None else SlabWindow(plan)
