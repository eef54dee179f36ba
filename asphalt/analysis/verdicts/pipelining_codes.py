"""Why a nest is not executed in tiles together with the messages before and behind it."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

MESSAGES = Code(
    "ASP065",
    "not every message that may be meant is cut alike",
    "Sender and receiver have to cut a message at the same places.  Another send or receive of the "
    "program may have the same tag, a receive takes any tag or any source, datatypes or counts "
    "differ, or there is something that cannot be seen and may send or receive: an unknown "
    "procedure, a tree without a main program.",
    "Give the two calls a tag that no others have, and their counts the same named constants.",
)
PARTS = Code(
    "ASP066",
    "a message is not made of equal parts, one for each iteration",
    "The count of a message is not that of the iterations times a constant number of elements, the "
    "buffer is not contiguous along them, a bound is no named constant, so that it may differ "
    "between ranks or from message to message, or no nest stands between receive and send.",
    "Let the nest's outermost loop run over the last dimension of the buffers, from one named "
    "constant to another.",
)
NEEDED = Code(
    "ASP067",
    "an iteration needs a later part of a message",
    "The nest reads or writes what a later iteration receives or stores, or the sent part of an "
    "iteration is changed by a later one: the tiles would be computed before what they need is "
    "there, or sent before it is complete.",
    "Compute in the order in which the parts come and go.",
)
BETWEEN = Code(
    "ASP068",
    "a statement stands between receive and send",
    "It can neither be executed before the receive nor behind the send, and is no loop over the "
    "same iterations; or a loop has another way out, or a condition changes inside; or the IF "
    "construct around a message has an ELSE arm, or holds more than the message and loops; or a "
    "message that the program starts itself (MPI_Isend, MPI_Irecv) is completed by more than one "
    "MPI_Wait for it alone, the status or the error code of a call is read, or something else "
    "knows the request.",
    "Move it in front of the receive or behind the send.  What an ELSE arm does can stand in an IF "
    "of its own in front of the receive.  A request may be a scalar local variable for one "
    "message, or an element with a constant subscript of a local array.",
)

CODES = (MESSAGES, PARTS, NEEDED, BETWEEN)
