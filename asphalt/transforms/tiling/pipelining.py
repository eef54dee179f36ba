"""Wavefront pipelining: a nest between a receive and a send is cut into tiles, with both messages.

Before::

    call asphalt_irecv(west, n, ..., left, 1, comm, asphalt_request_1)
    ...
    call asphalt_wait(asphalt_request_1, west)
    do j = 1, n                                        ! needs west(j) in iteration j
      ...
    end do
    call asphalt_isend(east, n, ..., right, 1, comm, asphalt_request_2)
    call asphalt_wait(asphalt_request_2, east)

After, the nest and the messages are cut into tiles of K iterations::

    do lo = 1, n, k
      hi = min(lo + k - 1, n)
      call asphalt_irecv(west(lo), hi - lo + 1, ..., requests_1(lo))
    end do
    ...
    do lo = 1, n, k
      hi = min(lo + k - 1, n)
      call asphalt_wait(requests_1(lo), west)
      do j = lo, hi
        ...
      end do
      if ((lo - 1)/k >= d) call asphalt_wait(requests_2(lo - d*k), east)
      call asphalt_isend(east(lo), hi - lo + 1, ..., requests_2(lo))
    end do

When all steps are done, an object of the runtime takes the place of these loops
(``segment_objects``)::

    call asphalt_begin_segments(x, first=1, last=n, work=..., k=..., d=...)
    call asphalt_receive_segments(x, west, 1, ..., left, 1, comm)
    ...
    do while (asphalt_next_segment(x))
      call asphalt_await_segment(x, west)
      do j = x%lo, x%hi
        ...
      end do
      call asphalt_send_segment(x, east, 1, ..., right, 1, comm)
    end do
    call asphalt_finish_segments(x, east)

The next rank can begin when the first tile has arrived (Danalis et al., ICS 2009, section 5,
"CCTP": loop tiling, segmentation of the messages, fusion, and waits that are D tiles behind).

The messages of this send and this receive match no others of the program, so that all ranks cut
them alike.  The program remains free of deadlock: a rank that waited in its send did so until the
receive was posted, and now all parts of a receive are posted at that place; a wait for a part needs
only what the sender has done before its own send was complete.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.tree import Node, Unit
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation
from asphalt.transforms.tiling.message_tiles import Emission
from asphalt.transforms.tiling.tile_declarations import declared, takes_tiles
from asphalt.transforms.tiling.wave_pipelines import Finder, Pipeline

LEAST_WORK = 200000
"""About so many operations of a nest are worth two tiles (``least_segment_work`` of the run-time
module for each)."""


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The receives and sends of a unit between which a nest can be executed in tiles."""
    if not takes_tiles(facts):
        return ()
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    finder = Finder(facts, messages, order)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        found += finder.found(path, siblings)
    return tuple(found)


def refusals(facts: UnitFacts) -> tuple[Refused, ...]:
    """The reasons why messages with a nest in between are not cut, for each receive."""
    return tuple(found for found in facts.once(check) if isinstance(found, Refused))


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest executed in tiles."""
    assert isinstance(step, Pipeline)
    own = step.trips, step.site, step.work, step.assumed
    emission = Emission(facts, step.receive, step.send, *own)

    def change(siblings: tuple[Node, ...]) -> tuple[Node, ...]:
        return emission.statements(siblings, step.groups, step.before, step.after, step.along)

    unit = replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))
    return declared(emission, unit)


TRANSFORMATION = Transformation(
    "wavefront pipelining",
    Pass.PIPELINING,
    Phase.TILES,
    "A nest between a receive and a send is cut into tiles, with both messages.",
    check,
    apply,
)
