"""The transformations, in the order and the groups in which they are tried."""

from __future__ import annotations

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
from asphalt.transforms.inlining import inline, opening
from asphalt.transforms.loops import (
    branch_fission,
    constant_branches,
    loop_fission,
    peeling,
    rotation,
    sends_first,
    sharing,
    splitting,
    unrolling,
)
from asphalt.transforms.motion import branch_copies, code_motion, later_receives
from asphalt.transforms.nonblocking import nonblocking, single_waits
from asphalt.transforms.rewriting.step import Transformation
from asphalt.transforms.tiling import pipelining, segmentation

PREPARING = tuple(
    Transformation(module.NAME, module.check, module.apply)
    for module in (unrolling, inline, constant_branches, allocation_hoisting)
)
STORING = Transformation(redundant_stores.NAME, redundant_stores.check, redundant_stores.apply)
ROTATING = Transformation(rotation.NAME, rotation.check, rotation.apply)
PARTING = Transformation(sends_first.NAME, sends_first.check, sends_first.apply)
TURNING = Transformation(rotation.NAME, rotation.before_takes, rotation.apply)
TAKING = Transformation(later_receives.NAME, later_receives.check, later_receives.apply)
OPENING = Transformation(opening.NAME, opening.check, opening.apply)
RENAMING = Transformation(renaming.NAME, renaming.check, renaming.apply)
CLONING = Transformation(array_expansion.NAME, array_expansion.check, array_expansion.apply)
EXPANDING = Transformation(receive_queues.NAME, receive_queues.check, receive_queues.apply)
DEPARTING = Transformation(buffered_sends.NAME, buffered_sends.check, buffered_sends.apply)
DECOMPOSING = Transformation(decomposition.NAME, decomposition.check, decomposition.apply)
STARTING = Transformation(nonblocking.NAME, nonblocking.check, nonblocking.apply)
WIDENING = (
    Transformation(branch_fission.NAME, branch_fission.check, branch_fission.apply),
    Transformation(code_motion.NAME, code_motion.moves, code_motion.apply),
)
WAITING = Transformation(single_waits.NAME, single_waits.check, single_waits.apply)
DIVIDING = (
    WAITING,
    *(
        Transformation(module.NAME, module.check, module.apply)
        for module in (branch_copies, splitting, peeling, loop_fission, waits_behind_loop)
    ),
)
SHARING = Transformation(sharing.NAME, sharing.check, sharing.apply)
SEGMENTING = Transformation(segmentation.NAME, segmentation.check, segmentation.apply)
TILING = Transformation(pipelining.NAME, pipelining.check, pipelining.apply)
_ALL = (
    *PREPARING, STORING, RENAMING, CLONING, EXPANDING, STARTING, DECOMPOSING, *WIDENING, *DIVIDING,
    TILING,
)  # fmt: skip
NAMES = tuple(dict.fromkeys(t.name for t in _ALL))
PREPARING_NAMES = frozenset(t.name for t in PREPARING)
GAINING = frozenset(
    {decomposition.NAME, receive_queues.NAME, code_motion.NAME, redundant_stores.NAME}
)
"""Those whose steps gain by themselves; tiles and segments are judged on their own."""
MOST_STEPS = 500
"""Of one unit; more is a defect, not a program."""
