"""Message segmentation: a message is cut into segments, and the nests at its ends into tiles.

Before::

    call asphalt_irecv(west, m*n, ..., left, 1, comm, asphalt_request_1)
    do j = 1, n                                        ! fills column j in iteration j
      ...  east(:,j) = ...
    end do
    call asphalt_isend(east, m*n, ..., right, 1, comm, asphalt_request_2)
    call asphalt_wait(asphalt_request_1, west)
    do j = 1, n                                        ! needs column j in iteration j
      ...  ... = west(:,j)
    end do
    call asphalt_wait(asphalt_request_2, east)

After, each tile of K iterations of the first nest sends its segment as soon as it is computed, and
each tile of the second one waits for its own::

    do lo = 1, n, k
      hi = min(lo + k - 1, n)
      call asphalt_irecv(west(1,lo), m*(hi - lo + 1), ..., requests_1(lo))
    end do
    do lo = 1, n, k
      hi = min(lo + k - 1, n)
      do j = lo, hi
        ...
      end do
      if ((lo - 1)/k >= d) call asphalt_wait(requests_2(lo - d*k), east)
      call asphalt_isend(east(1,lo), m*(hi - lo + 1), ..., requests_2(lo))
    end do
    do lo = 1, n, k
      hi = min(lo + k - 1, n)
      call asphalt_wait(requests_1(lo), west)
      do j = lo, hi
        ...
      end do
    end do
    do lo = 1, n, k
      call asphalt_wait(requests_2(lo), east)
    end do

When all steps are done, an object of the runtime takes the place of these loops
(``segment_objects``).

(Danalis et al., ICS 2009, section 5, "CCTP", and figure 3.)  One of the nests may be missing: that
end starts all segments, or waits for all, where it sent or received the whole message.  Both ends
may stand in different statement lists, under conditions that choose ranks.  The program's own calls
(``MPI_Irecv``, ``MPI_Isend``, and an ``MPI_Wait`` for each) are replaced in the same way
(``program_starts``).

The message matches no other of the program, so that both ends cut it alike: the n-th message that a
rank sends to another is the n-th one that the other receives from it, and so are their segments.
The program remains free of deadlock: all segments of a receive are posted where it was.  Those of a
send start earlier than the send did and are waited for where it was, or before that only where
nothing else is started in between: a rank that waited in its send waited for the same receive.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.tree import Unit
from asphalt.transforms.rewriting.edit import rewrite_list
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation
from asphalt.transforms.tiling.segment_tiles import Segments
from asphalt.transforms.tiling.segmented_sides import SegmentableMessages, Segmented
from asphalt.transforms.tiling.tile_declarations import declared, takes_tiles


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The non-blocking messages of a unit that can be cut into segments."""
    if not takes_tiles(facts):
        return ()
    return tuple(
        SegmentableMessages(facts, facts.once(Messages), facts.once(Independence.of)).all()
    )


def refusals(facts: UnitFacts) -> tuple[Refused, ...]:
    """The reasons why a message with a nest beside its send or receive is not cut, blocking ones
    included: one refusal for each of the two calls."""
    if not takes_tiles(facts):
        return ()
    ends = SegmentableMessages(
        facts, facts.once(Messages), facts.once(Independence.of), blocking=True
    )
    return tuple(
        replace(found, span=message.start.span)
        for send, receive, found in ends.pairs_found()
        if isinstance(found, Refused)
        for message in (send, receive)
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one message cut into segments."""
    assert isinstance(step, Segmented)
    ends = step.receive, step.send
    emission = Segments(facts, *ends, step.trips, step.site, step.work, step.assumed)
    body = facts.unit.body
    # a list inside of another one first: what is around it keeps its positions
    for path in sorted({end.path for end in ends}, key=len, reverse=True):
        sides = tuple(end for end in ends if end.path == path)
        change = partial(emission.segmented, sides, step.along)
        body = rewrite_list(body, (*path, 0), change)
    return declared(emission, replace(facts.unit, body=body))


TRANSFORMATION = Transformation(
    "message segmentation",
    Pass.PIPELINING,
    Phase.TILES,
    "A message is cut into segments; each tile of the nests at its ends sends or awaits one.",
    check,
    apply,
)
