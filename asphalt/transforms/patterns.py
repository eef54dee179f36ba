"""Which messages a plan's pattern needs."""

from __future__ import annotations

from asphalt.analysis.plan import Plan
from asphalt.analysis.schedule import Shape as Pattern
from asphalt.transforms.pieces import Pieces
from asphalt.transforms.pieces_block import EveryBlock
from asphalt.transforms.pieces_slab import Slab


def pieces_of(plan: Plan) -> Pieces:
    """The messages of a plan."""
    match plan.layout.pattern:
        case Pattern.EVERY_BLOCK:
            return EveryBlock(plan)
        case Pattern.SLAB:
            return Slab(plan)
