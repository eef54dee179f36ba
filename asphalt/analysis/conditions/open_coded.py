"""Whether messages between two ranks that are written out are an exchange of all with all."""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.exchange.tag_clashes import why_others
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.tree import leaves

PEERS = Code(
    "ASP070",
    "the messages are not one block for each rank",
    "Loops of sends and receives look like an exchange of all ranks with all, but it is not known "
    "that each rank sends one message to every other one and receives one of it, with one tag and "
    "on one communicator, from and to places that the partner's number tells; or what is copied "
    "between them is not the block of the rank itself.",
    "Let both loops go through all ranks but the own one, as `do turn = 1, ranks - 1` with `p = "
    "modulo(me + turn, ranks)`, or as `do p = 0, ranks - 1` with `if (p == me) cycle`.",
)
ENDS = Code(
    "ASP071",
    "the messages do not end with the exchange",
    "It is not known that the wait is for all messages of the loops and for no others, or a "
    "request, a status, a counter or a loop variable of them may be used later: the messages that "
    "would be sent instead have requests of their own.",
    "Keep requests and statuses in local arrays of the procedure, number the requests from 1 on, "
    "and wait for all of them with one MPI_WAITALL.",
)
BETWEEN = Code(
    "ASP072",
    "statements between the messages do something else",
    "Between the first message and the wait stand statements that neither start messages nor copy "
    "the block of the rank itself.",
    "Move them in front of the first message or behind the wait.",
)
OTHERS = Code(
    "ASP073",
    "other messages could be received in the place of these",
    "Another send or receive of the program may have the same tag, a probe may see the messages, "
    "or not all of the program is known: a message from elsewhere could be taken for one of these, "
    "or one of these for another; they are more and shorter where the exchange is tiled, and those "
    "without elements are not sent.",
    "Give the exchange a tag of its own, a constant, and asphalt the whole program.",
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
        return Refused(PEERS, "a buffer is no array without gaps", exchange.span)
    return Holds("every rank exchanges one block with every other, and all are complete at the end")


def check_alone(exchange: Exchange) -> Answer:
    """Whether no other message of the program can be received in the place of these."""
    coded = exchange.open_coded
    assert coded is not None
    own = [leaf for node in coded.nodes for leaf in leaves(node)]
    others = why_others(exchange, coded.tag, own)
    if others is not None:
        return Refused(OTHERS, others, exchange.span)
    return Holds(f"the messages keep their tag {coded.tag}, which no others of the program have")
