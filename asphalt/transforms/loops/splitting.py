"""Index-set splitting: the interior of a nest is separated from the edges that need a halo.

Before::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    do j = 1, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do

After::

    call asphalt_wait(asphalt_request_1, u(1, 0))
    do j = 2, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do j = 1, min(1, ny)
      ...
    end do

The interior accesses nothing that the statements between the wait and the nest access, nor what the
wait releases; so code motion can move it into the overlap window (Danalis et al., ICS 2009, section
5, "loop fission", where the dependence is that of the received halo only).
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.mpi.library_effects import receives
from asphalt.config.passes import Pass
from asphalt.ir.tree import Unit
from asphalt.transforms.loops.index_set_splitting import Run, in_parts, nests
from asphalt.transforms.motion.windows import OverlapWindow
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_COMMENT = "asphalt: the interior of the nest, which meets nothing that is under way"


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit of which a part can move into the window of a transfer before them."""
    return nests(facts, from_waits)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest split: the interior, then the edges."""
    return in_parts(facts, step, _COMMENT, interior_first=True)


def from_waits(siblings: Run, windows: tuple[OverlapWindow, ...], position: int) -> list[Run]:
    """From each wait for a receive to the nest, the earliest wait first."""
    waits = sorted({w.last for w in windows if receives(w.call.procedure)})
    return [siblings[wait:position] for wait in waits if wait < position]


TRANSFORMATION = Transformation(
    "index-set splitting",
    Pass.SPLITTING,
    Phase.DIVISION,
    "The interior of a nest is separated from the edges that need a received halo.",
    check,
    apply,
    in_place=True,
)
