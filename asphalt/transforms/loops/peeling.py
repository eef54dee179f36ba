"""Loop peeling: the iterations of a nest that define what is sent are executed first.

Before::

    do j = 1, ny
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do i = 1, nx
      row(i) = after(i, ny)
    end do
    call asphalt_isend(row, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, row)

After::

    do j = max(ny, 1), ny
      ...
    end do
    do j = 1, ny - 1
      do i = 1, nx
        after(i, j) = u(i, j) + u(i, j-1)
      end do
    end do
    do i = 1, nx
      row(i) = after(i, ny)
    end do
    call asphalt_isend(row, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, row)

The remaining nest is independent of the statements between it and the start, so that code motion
can move it below the start, into the overlap window.  If the message needs the last iterations,
these come first as well: the iterations may be executed in any order, so this is what peeling the
reversed loop would give (Danalis et al., ICS 2009, section 5, "loop peeling").
"""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.config.passes import Pass
from asphalt.ir.tree import Unit
from asphalt.transforms.loops.index_set_splitting import Run, in_parts, nests
from asphalt.transforms.motion.windows import OverlapWindow
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

_COMMENT = "asphalt: the rest of the nest, which no message needs"


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit of which a part can move into the window of a transfer behind them."""
    return nests(facts, to_starts)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest split: the edges, then the interior."""
    return in_parts(facts, step, _COMMENT, interior_first=False)


def to_starts(siblings: Run, windows: tuple[OverlapWindow, ...], position: int) -> list[Run]:
    """From the nest to each start, the last start first."""
    starts = sorted({w.first for w in windows}, reverse=True)
    return [siblings[position + 1 : start + 1] for start in starts if start > position]


TRANSFORMATION = Transformation(
    "loop peeling",
    Pass.PEELING,
    Phase.DIVISION,
    "The iterations of a nest that define what is sent are executed first.",
    check,
    apply,
    in_place=True,
)
