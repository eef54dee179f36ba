"""Why stores to a receive buffer stay, although a receive follows."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Code

UNFILLED = Code(
    "ASP074",
    "a receive may leave a part of what was stored before it",
    "What is stored before a receive is only lost if the receive defines every element of it: it "
    "may not get fewer elements than it has room for (another send of the program that may have "
    "its tag has another count or type, or is not known), its source may not be MPI_PROC_NULL, "
    "which leaves the buffer as it was, and it may not be skipped where the stores are not.",
    "Store only what no message fills; or let all messages with the tag of the receive have the "
    "receive's count, spelled with the same named constants, and no source be MPI_PROC_NULL.",
)
READ = Code(
    "ASP075",
    "what is stored before a receive may be read",
    "A statement between the stores and the receive reads the buffer, sends it, gives it to a "
    "procedure, or may do so: it cannot be seen through, or leaves the list of statements.",
    "Store directly in front of the receive, or not at all.",
)
EVALUATED = Code(
    "ASP076",
    "evaluating what is stored may be noticed",
    "The stores in front of a receive are only left out if nobody can tell: they call nothing, "
    "compute with integers alone, convert nothing (a floating-point operation, a division or a "
    "conversion may raise an exception), define nothing but the buffer, and no variable of their "
    "loops is used behind them.",
    "Fill the buffer with constants, in loops over variables of their own.",
)

CODES = (UNFILLED, READ, EVALUATED)
