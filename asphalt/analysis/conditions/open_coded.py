"""Whether an open-coded exchange is a complete exchange of all ranks."""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.exchange.tag_clashes import why_others
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.tree import leaves

PEERS = Code(
    "ASP070",
    "the messages are not one block for each rank",
    "Loops of sends and receives look like an exchange of all ranks.  But it is not known that "
    "each rank sends one message to every other rank and receives one from it, with one tag, on "
    "one communicator, from and to places that depend on the number of the partner; or what is "
    "copied between them is not the block of the rank itself.",
    "Let both loops run over all other ranks, as `do step = 1, ranks - 1` with `p = modulo(me + "
    "step, ranks)`, or as `do p = 0, ranks - 1` with `if (p == me) cycle`.",
)
ENDS = Code(
    "ASP071",
    "the wait may not complete exactly the messages of the exchange",
    "It is not known that the wait completes all messages of the loops and no others; or a "
    "request, a status, a counter or a loop variable of theirs may be used later, but the "
    "messages that are sent instead have requests of their own.",
    "Keep requests and statuses in local arrays of the procedure, number the requests from 1, and "
    "wait for all of them with one MPI_WAITALL.",
)
BETWEEN = Code(
    "ASP072",
    "statements between the messages do something else",
    "Statements between the first message and the wait neither start messages nor copy the block "
    "of the rank itself.",
    "Move them in front of the first message or behind the wait.",
)
OTHERS = Code(
    "ASP073",
    "other messages could be received instead of these",
    "Another send or receive of the program may have the same tag, a probe may see the messages, "
    "or asphalt does not see the whole program.  A message from elsewhere could be received "
    "instead of one of these, or one of these instead of another message: a tiled exchange has "
    "more and shorter messages, and sends none without elements.",
    "Give the exchange a constant tag of its own, and give asphalt the whole program.",
)

CODES = (PEERS, ENDS, BETWEEN, OTHERS)
_CODES = {"peers": PEERS, "ends": ENDS, "between": BETWEEN}


def check(exchange: Exchange) -> Answer:
    """Whether the statements are an exchange of blocks of two arrays, complete at their end."""
    coded = exchange.open_coded
    assert coded is not None
    if coded.fault is not None:
        span = coded.fault.span or exchange.span
        return Refused(_CODES[coded.fault.kind], coded.fault.reason, span)
    if exchange.call.anywhere(exchange.scope) or None in (
        buffer_of(exchange, "sendbuf"),
        buffer_of(exchange, "recvbuf"),
    ):
        return Refused(PEERS, "a buffer is not an array without gaps", exchange.span)
    return Holds("every rank exchanges one block with every other, and all are complete at the end")


def check_alone(exchange: Exchange) -> Answer:
    """Whether no other message of the program can be received instead of these."""
    coded = exchange.open_coded
    assert coded is not None
    own = [leaf for node in coded.nodes for leaf in leaves(node)]
    others = why_others(exchange, coded.tag, own)
    if others is not None:
        return Refused(OTHERS, others, exchange.span)
    return Holds(
        f"the messages keep their tag {coded.tag}, which no other messages of the program have"
    )
