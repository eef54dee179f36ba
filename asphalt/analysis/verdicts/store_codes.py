"""Why stores to a receive buffer are kept, although a receive follows."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

UNFILLED = Code(
    "ASP074",
    "a receive may not define all that was stored before it",
    "The stores are only dead if the receive defines every element of them.  One of these holds: "
    "the message may be shorter than the buffer (a send of the program that may have the tag has "
    "another count or type, or is not known); the source may be MPI_PROC_NULL, which leaves the "
    "buffer as it was; the receive may be skipped where the stores are not.",
    "Store only what no message fills; or let all messages with the tag of the receive have the "
    "receive's count, spelled with the same named constants, and no source be MPI_PROC_NULL.",
)
READ = Code(
    "ASP075",
    "what is stored before a receive may be read",
    "A statement between the stores and the receive reads the buffer, sends it or passes it to a "
    "procedure, or may do so: asphalt cannot see through it, or it leaves the list of statements.",
    "Store directly in front of the receive, or not at all.",
)
EVALUATED = Code(
    "ASP076",
    "evaluating what is stored may have a visible effect",
    "Stores in front of a receive are removed only if that has no visible effect: they call no "
    "procedure; they compute with integers alone and convert nothing (a floating-point operation, "
    "a division or a conversion may raise an exception); they define nothing but the buffer; and "
    "no statement behind them uses a variable of their loops.",
    "Fill the buffer with constants, in loops over variables of their own.",
)

CODES = (UNFILLED, READ, EVALUATED)
