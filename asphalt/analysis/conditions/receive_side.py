"""Condition 5: nothing accesses the receive buffer from the first posted receive to the call, or
pieces land in a clone."""

from __future__ import annotations

from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.accesses import Mode
from asphalt.analysis.memory.aliasing import distinct
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.verdicts.verdict import Code, Holds, Refused
from asphalt.ir.records import record

READ = Code(
    "ASP501",
    "the producer reads the receive buffer",
    "Pieces from other ranks arrive in the receive buffer while the nest runs, so that the nest "
    "would read the old value in one run and the new value in another.  If blocks differ in "
    "length, asphalt cannot receive them into a clone instead.",
    "Receive into another array, or copy the values that the nest reads before it.",
    5,
)
WRITTEN = Code(
    "ASP502",
    "the receive buffer is written before the call",
    "A statement between the entry of the nest and the call writes the receive buffer, and would "
    "overwrite a piece that has already arrived.  If blocks differ in length, asphalt cannot "
    "receive them into a clone instead.",
    "Move the statement in front of the nest if the exchange overwrites all of the buffer.",
    5,
)

CODES = (READ, WRITTEN)


@record
class Landing:
    """Where the pieces land.

    ``clone``: why they land in an array of the same size, which is copied to the receive buffer
    where the call stood.  None: they land in the receive buffer.
    """

    clone: str | None
    holds: Holds


def check(producer: Producer, layout: Layout) -> Landing | Refused:
    """Where pieces may land while the nest runs.

    Before the call, the program reads old values in its receive buffer; what it writes there is
    overwritten by the call, or kept where the call writes nothing.  So pieces land in a clone of
    what the call would write if a statement up to the call accesses the buffer.
    """
    exchange = producer.exchange
    name = layout.receive.buffer
    for access in producer.footprint.of(exchange.names.storage(name)):
        if access.mode is Mode.INQUIRE:
            continue
        if access.named is not None and distinct(access.named, name, exchange.scope):
            continue
        line = access.leaf.span.first if access.leaf.span is not None else 0
        what = "writes" if access.writes else "reads"
        if layout.uneven is not None or layout.strides is not None:
            message = f"line {line} {what} the receive buffer {name} before the call"
            return Refused(WRITTEN if access.writes else READ, message, access.leaf.span)
        holds = Holds(f"{name} is received into a clone: line {line} {what} it")
        return Landing(f"{name} is {'written' if access.writes else 'read'} before the call", holds)
    return Landing(None, Holds(f"nothing accesses {name} from the nest to the call"))
