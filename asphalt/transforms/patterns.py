"""Which messages a plan's pattern needs."""

from __future__ import annotations

from asphalt.analysis.plan import Plan
from asphalt.analysis.schedule import Shape as Pattern
from asphalt.transforms.pieces import Pieces
from asphalt.transforms.pieces_block import EveryBlock
from asphalt.transforms.pieces_slab import Slab
from asphalt.transforms.pieces_uneven import UnevenBlocks, UnevenSlab


def pieces_of(plan: Plan) -> Pieces:
    """The messages of a plan."""
    uneven = plan.layout.uneven is not None
    match plan.layout.pattern:
        case Pattern.EVERY_BLOCK:
            return UnevenBlocks(plan) if uneven else EveryBlock(plan)
        case Pattern.SLAB:
            return UnevenSlab(plan) if uneven else Slab(plan)
