"""Proved errors in the use of MPI, which are reported as findings."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.conditions.equally_often import refused_by
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.all_sends import Sent, receives
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.self_messages import receives_from_itself
from asphalt.analysis.requests.interprocedural import IgnoredRequest
from asphalt.analysis.requests.matching import Match, Unmatched
from asphalt.analysis.requests.operations import Does
from asphalt.analysis.verdicts.verdict import Code, Mark, Refused

LOST = Code(
    "ASP030",
    "an operation that nothing completes",
    "Whatever the conditions, no call completes the operation before the procedure returns or its "
    "request is used again (in a loop: by the next iteration).  The call may be one of a "
    "procedure that starts the operation with a request of its caller.  MPI may access the buffer "
    "at any later time, and the request is lost (MPI-4.0 sections 3.7.3 and 11.2.2).",
    "Wait for the request, or free it if nothing depends on when the send is complete.",
)
NOT_STARTED = Code(
    "ASP031",
    "a wait for an operation that nothing starts",
    "The request is local to the procedure, and no path to the wait defines it: the wait is for "
    "whatever the memory held before.  The wait may stand in a procedure to which the request is "
    "passed.",
    "Wait for the request with which the operation was started, or set it to MPI_REQUEST_NULL.",
)
NO_SEND = Code(
    "ASP032",
    "a receive that no send matches",
    "asphalt sees all sends of the program and all its calls.  None of the sends has the tag and "
    "the communicator of the receive, is executed by its source, and goes to a rank that executes "
    "the receive.  The receive never completes, unless its source is MPI_PROC_NULL.",
    "Give the send and the receive the same tag and communicator, and each the rank of the other.",
)
OTHER_MESSAGE = Code(
    "ASP033",
    "a receive whose messages do not fit",
    "Each send that the receive can match has more elements than the receive has room for "
    "(MPI_ERR_TRUNCATE), or elements of another type (MPI-4.0 sections 3.2.4 and 3.3.1).",
    "Give the send and the receive the same type, and the receive at least the count of the send.",
)
ITSELF = Code(
    "ASP034",
    "a rank that waits for itself",
    "The rank waits for a message from itself, and has sent none on any path to the receive: the "
    "wait never ends.",
    "Start the receive with MPI_Irecv in front of the send, or use MPI_Sendrecv.",
)

CODES = (LOST, NOT_STARTED, NO_SEND, OTHER_MESSAGE, ITSELF)


def of_requests(matches: tuple[Match, ...]) -> Iterator[Refused]:
    """The errors in the requests of a unit."""
    for found in matches:
        if isinstance(found, Unmatched) and found.certain:
            waits = found.does is Does.COMPLETE
            yield refused_by(
                NOT_STARTED if waits else LOST, found.reason, found.leaf.span, found.path
            )


def of_called(call: IgnoredRequest) -> Refused:
    """The error in a call of a procedure that starts an operation, or waits for one."""
    does, own = call.operation.does, call.operation.leaf.span
    assert own is not None
    where = f"line {own.first} of {own.file}"
    marks = (*call.path.marks(), Mark(own, "definition", "what it does with the request"))
    if does is Does.COMPLETE:
        message = f"{call.procedure} waits for {call.request}, which nothing defines"
        return Refused(NOT_STARTED, message, call.leaf.span, where, marks)
    message = f"{call.procedure} starts an operation with {call.request}, which nothing completes"
    return Refused(LOST, message, call.leaf.span, where, marks)


def of_receives(facts: UnitFacts, messages: Messages, sent: tuple[Sent, ...]) -> Iterator[Refused]:
    """The errors in the receives of a unit, given all sends of the program."""
    for leaf, receive in receives(facts, messages):
        if leaf.span is None:
            continue
        tagged = [
            send for send in sent if None in (send.tag, receive.tag) or send.tag == receive.tag
        ]
        if not sent:
            yield Refused(NO_SEND, "the program has no send", leaf.span, "all its calls are seen")
            continue
        if not tagged:
            tags = sorted({send.tag for send in sent if send.tag is not None})
            message = f"no send of the program has the tag {receive.tag}"
            witness = f"the sends have {_listed('tag', tags)}"
            yield Refused(NO_SEND, message, leaf.span, witness, _marks(sent))
            continue
        possible = [send for send in tagged if not receive.goes_elsewhere(send)]
        if not possible:
            message = "no send of the program goes from its source to a rank that executes it"
            lines = sorted({send.span.first for send in tagged})
            witness = f"the sends with its tag are in {_listed('line', lines)}"
            yield Refused(NO_SEND, message, leaf.span, witness, _marks(tuple(tagged)))
            continue
        wrong = [receive.why_not(send) for send in possible]
        if all(wrong):
            message = f"{receive.described}, but {wrong[0]}"
            witness = f"line {possible[0].span.first} of {possible[0].span.file}"
            yield Refused(OTHER_MESSAGE, message, leaf.span, witness, _marks(tuple(possible)))


def of_own_rank(facts: UnitFacts, messages: Messages) -> Iterator[Refused]:
    """The blocking receives in which a rank waits for its own message."""
    for leaf, source in receives_from_itself(facts, messages):
        message = f"{source} is the rank itself, which has sent nothing before"
        yield Refused(ITSELF, message, leaf.span, f"line {line_of(leaf)}")


_MANY = 5


def _marks(sent: tuple[Sent, ...]) -> tuple[Mark, ...]:
    return tuple(Mark(send.span, "definition", "a send") for send in sent[:_MANY])


def _listed(word: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{word} {numbers[0]}"
    listed = ", ".join(map(str, numbers[:_MANY]))
    return f"{word}s {listed}{' ...' if len(numbers) > _MANY else ''}"
