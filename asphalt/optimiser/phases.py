"""The table of all transformations of transfers, phase by phase, as the optimiser tries them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asphalt.transforms.buffers import (
    allocation_hoisting,
    array_expansion,
    buffered_sends,
    receive_queues,
    redundant_stores,
    renaming,
    waits_behind_loop,
)
from asphalt.transforms.decomposition import decomposition
from asphalt.transforms.exchanges import combination, joining, removal
from asphalt.transforms.inlining import calls_together, opening, versions
from asphalt.transforms.loops import (
    branch_fission,
    constant_branches,
    loop_fission,
    peeling,
    receive_loops,
    rotation,
    sends_first,
    sharing,
    splitting,
    unrolling,
)
from asphalt.transforms.motion import (
    branch_copies,
    called_motion,
    code_motion,
    counted_starts,
    later_receives,
)
from asphalt.transforms.nonblocking import nonblocking, single_waits
from asphalt.transforms.rewriting.step import Phase, Transformation
from asphalt.transforms.tiling import pipelining, segmentation

TRANSFORMATIONS: tuple[Transformation, ...] = (
    removal.TRANSFORMATION,
    joining.TRANSFORMATION,
    combination.TRANSFORMATION,
    unrolling.TRANSFORMATION,
    calls_together.TRANSFORMATION,
    constant_branches.TRANSFORMATION,
    allocation_hoisting.TRANSFORMATION,
    renaming.TRANSFORMATION,
    array_expansion.TRANSFORMATION,
    nonblocking.TRANSFORMATION,
    redundant_stores.TRANSFORMATION,
    receive_queues.TRANSFORMATION,
    decomposition.TRANSFORMATION,
    branch_fission.TRANSFORMATION,
    code_motion.TRANSFORMATION,
    called_motion.TRANSFORMATION,
    single_waits.TRANSFORMATION,
    counted_starts.TRANSFORMATION,
    receive_loops.TRANSFORMATION,
    branch_copies.TRANSFORMATION,
    splitting.TRANSFORMATION,
    peeling.TRANSFORMATION,
    versions.BEHIND_WAITS,
    versions.BEFORE_STARTS,
    loop_fission.TRANSFORMATION,
    waits_behind_loop.TRANSFORMATION,
    sharing.TRANSFORMATION,
    buffered_sends.TRANSFORMATION,
    rotation.TRANSFORMATION,
    opening.TRANSFORMATION,
    sends_first.TRANSFORMATION,
    rotation.BEFORE_TAKES,
    later_receives.TRANSFORMATION,
    pipelining.TRANSFORMATION,
    segmentation.TRANSFORMATION,
)
"""All of them, in the order of their phases."""
PHASES: Mapping[Phase, tuple[Transformation, ...]] = MappingProxyType(
    {phase: tuple(one for one in TRANSFORMATIONS if one.phase is phase) for phase in Phase}
)
MOST_STEPS = 500
"""Of one unit; more is a defect, not a program."""
