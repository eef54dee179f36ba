"""Condition 9: for every pair of ranks, both sides compute the same sequence of pieces."""

from __future__ import annotations

from asphalt.analysis.conditions.evidence import order_marks, order_witness
from asphalt.analysis.exchange.phase_order import carried_by_rotation
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.schedule.check import check_reach, check_shape
from asphalt.analysis.schedule.check_packed import check_packed
from asphalt.analysis.schedule.check_uneven import check_uneven
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused

PROTOCOL = Code(
    "ASP901",
    "the schedule of messages does not pair up",
    "The check of the schedule for all ranks found a send without a receive, a cycle of waits, or "
    "a piece that is lost or sent too early.",
    "This is a defect of asphalt: please report it.",
    9,
)
ORDER = Code(
    "ASP902",
    "the iterations must run in their order",
    "The tiled loop goes through the blocks one after the other.  In the same order on all ranks, "
    "all would send to rank 0 first, which is far slower than the original.  Another order is not "
    "allowed here, because an iteration uses what an earlier one defined, or a later statement "
    "uses the last value of a variable.",
    "Make the iterations independent, e.g. let each define its temporary variables itself.",
    9,
)

BACKWARDS = Code(
    "ASP904",
    "blocks of different lengths are filled from their ends",
    "The tiled loop runs downwards.  A block is cut into pieces from its beginning, because "
    "sender and receiver both know only its length; so the first piece would be complete only "
    "after the last iteration.",
    "Let the loop run upwards, if the order of its iterations is free.",
    9,
)

# a part of what the tests check, small enough to take no noticeable time
_TRIPS = 4
_RANKS, _PLANES = 3, 3  # where planes are final before or later

CODES = (PROTOCOL, ORDER, BACKWARDS)


def check(producer: Producer, layout: Layout) -> Answer:
    """Whether the schedule is right for all ranks and small sizes; for slabs, the order is free."""
    if layout.pattern is TileShape.SLAB:
        if producer.direction < 0:
            message = "the loop over the slabs runs backwards"
            return Refused(ORDER, message, producer.packing.tiled.head.span)
        carried = carried_by_rotation(producer)
        if carried is not None:
            name = carried.storage.rsplit("::", 1)[-1]
            message = f"the iterations are not independent: they share {name}"
            witness = order_witness(carried)
            return Refused(ORDER, message, carried.later.span, witness, order_marks(carried))
    if layout.uneven is not None and producer.direction < 0:
        message = f"the loop over {producer.packing.variable} runs backwards"
        return Refused(BACKWARDS, message, producer.packing.tiled.head.span)
    if layout.packed is not None:
        fault = check_packed()
    elif layout.uneven is None:
        pattern = layout.pattern if layout.strides is None else TileShape.STRIDED
        fault = check_shape(pattern, trips=_TRIPS)
    else:
        fault = check_uneven(layout.pattern)
    window = layout.window
    if fault is None and window is not None:
        fault = check_reach(layout.pattern, window.late, _RANKS, _PLANES)
    if fault is not None:
        return Refused(PROTOCOL, str(fault), producer.exchange.span)
    evidence = "the schedule pairs up for 1 to 5 ranks and all small sizes"
    if window is not None:
        evidence += f", for 1 to {_RANKS} where planes are final before or later"
    return Holds(evidence)
