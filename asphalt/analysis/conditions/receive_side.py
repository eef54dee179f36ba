"""Condition 5: nothing touches the receive buffer from the first posted receive to the call."""

from __future__ import annotations

from asphalt.analysis.access import Mode
from asphalt.analysis.geometry import Layout
from asphalt.analysis.nest import Producer
from asphalt.analysis.verdict import Answer, Code, Holds, Refused

READ = Code(
    "ASP501",
    "the producer reads the receive buffer",
    "Pieces of other ranks land in the receive buffer while the nest runs, so what it reads there "
    "would be the old value on one run and the new value on another.",
    "Receive into another array, or copy what is read before the nest.",
    5,
)
WRITTEN = Code(
    "ASP502",
    "the receive buffer is written before the call",
    "A statement between the entry of the nest and the call writes the receive buffer, and would "
    "overwrite a piece that has already arrived.",
    "Move the statement in front of the nest if the exchange overwrites all of the buffer.",
    5,
)

CODES = (READ, WRITTEN)


def check(producer: Producer, layout: Layout) -> Answer:
    """Whether the region from the nest to the call leaves the receive buffer alone."""
    exchange = producer.exchange
    storage = exchange.names.storage(layout.receive.buffer)
    for access in producer.footprint.of(storage):
        if access.mode is Mode.INQUIRE:
            continue
        line = access.leaf.span.first if access.leaf.span is not None else 0
        what = "writes" if access.writes else "reads"
        message = f"{layout.receive.buffer} is the receive buffer, and line {line} {what} it"
        code = WRITTEN if access.writes else READ
        return Refused(code, message, access.leaf.span)
    return Holds(f"nothing touches {layout.receive.buffer} from the nest to the call")
