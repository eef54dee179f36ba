"""Which messages a plan's pattern needs."""

from __future__ import annotations

from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.plan import Plan
from asphalt.transforms.prepush.every_block import EveryBlock
from asphalt.transforms.prepush.packed_blocks import PackedBlocks
from asphalt.transforms.prepush.pieces import Pieces
from asphalt.transforms.prepush.shifted_planes import EveryBlockWindow, SlabWindow
from asphalt.transforms.prepush.slab import Slab
from asphalt.transforms.prepush.strided import Strided
from asphalt.transforms.prepush.uneven_blocks import UnevenBlocks, UnevenSlab


def pieces_of(plan: Plan) -> Pieces:
    """The messages of a plan."""
    if plan.layout.strides is not None:
        return Strided(plan)
    if plan.layout.packed is not None:
        return PackedBlocks(plan)
    uneven = plan.layout.uneven is not None
    window = plan.layout.window is not None
    if plan.layout.pattern is TileShape.SLAB:
        if uneven:
            return UnevenSlab(plan)
        return SlabWindow(plan) if window else Slab(plan)
    if uneven:
        return UnevenBlocks(plan)
    return EveryBlockWindow(plan) if window else EveryBlock(plan)
