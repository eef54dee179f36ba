"""Why a nest is not executed in tiles together with the messages before and behind it."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

MESSAGES = Code(
    "ASP065",
    "the messages that may match are not all cut alike",
    "Sender and receiver must cut a message at the same places.  One of these holds: another send "
    "or receive of the program may have the same tag; a receive accepts any source or any tag; "
    "datatypes or counts differ; something that asphalt cannot see may send or receive: an "
    "unknown procedure, or a tree without a main program.",
    "Give the two calls a tag that no other has, and the same named constants as counts.",
)
PARTS = Code(
    "ASP066",
    "a message is not made of equal parts, one for each iteration",
    "One of these holds: the count of a message is not the trip count times a constant number of "
    "elements; the buffer is not contiguous along the iterations; a bound is not a named "
    "constant, so that it may differ between ranks or messages; no nest stands between receive "
    "and send.",
    "Let the nest's outermost loop run over the last dimension of the buffers, from one named "
    "constant to another.",
)
NEEDED = Code(
    "ASP067",
    "an iteration needs a later part of a message",
    "A tile would be computed before its data is received, or sent before it is complete: an "
    "iteration accesses what a later iteration receives or stores, or a later iteration changes "
    "the sent part of an earlier one.",
    "Compute in the order in which the parts are received and sent.",
)
BETWEEN = Code(
    "ASP068",
    "a statement stands between receive and send",
    "One of these holds: the statement can move neither before the receive nor behind the send, "
    "and is not a loop over the same iterations; a loop has another exit, or a condition changes "
    "in it; the IF construct around a message has an ELSE arm, or contains more than the message "
    "and loops; a message that the program itself starts (MPI_Isend, MPI_Irecv) is not completed "
    "by one MPI_Wait for it alone, the status or the error code of a call is read, or another "
    "statement uses the request.",
    "Move the statement in front of the receive or behind the send.  The statements of an ELSE "
    "arm can stand in an IF of their own in front of the receive.  A request may be a scalar "
    "local variable for one message, or an element of a local array with a constant subscript.",
)

CODES = (MESSAGES, PARTS, NEEDED, BETWEEN)
