"""Transfers between two ranks, and operations with requests: listed on request, not transformed."""

from __future__ import annotations

from asphalt.analysis.conditions.equally_often import refused_by
from asphalt.analysis.requests.matching import Match, Matched, Unmatched
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.ir.tree import Leaf

NOT_YET = Code(
    "ASP010",
    "transfers between two ranks are only transformed on request",
    "The call starts an operation whose completion is known: on every way from it a call completes "
    "it before the procedure returns or the request is used again.  `scan --all` lists it; `apply` "
    "leaves it alone unless `--passes` names the transformations for such transfers.",
    "Try `--passes transfers`, and see with `diff` what comes of it.",
)
UNMATCHED = Code(
    "ASP011",
    "an operation that is not completed, or a wait for none",
    "There is a way from the call to the return of the procedure, or to a call that uses the same "
    "request again, on which nothing completes the operation; or no operation reaches the wait.  "
    "The buffer of such an operation may be accessed by MPI at any later time, and its request "
    "is lost.",
    "Wait for the request on the way that the witness shows.",
)
UNKNOWN = Code(
    "ASP012",
    "it is not known what completes the operation",
    "Whether the operation is complete depends on a flag, on which of several requests is done, on "
    "another procedure, or on conditions that may exclude each other; or the other side of a "
    "blocking transfer is not known.",
    "Say which statements belong together with `!$asphalt match(id)` in front of each of them.",
)

ERROR_READ = Code(
    "ASP020",
    "the error code of a transfer is read",
    "Somebody may look at the error code of the call: a later statement, or the caller, where it "
    "is a dummy argument or a variable of a module.  A transfer that is made non-blocking fails "
    "when it is waited for, which is later.  With MPI_ERRORS_ARE_FATAL, the default, the code is "
    "never anything but MPI_SUCCESS; but the program sets another error handler, or it is not seen "
    "as a whole, so that something else may set one.",
    "Give asphalt the whole program, with its main program and all that it calls; or leave the "
    "test of the code out.",
)
NO_VARIABLE = Code(
    "ASP021",
    "the buffer of a transfer may be a copy",
    "A compiler passes a copy of a section with gaps, of an expression, or of an array that may "
    "have gaps; it is gone when a non-blocking call returns.",
    "Pass a contiguous array, or a part of one.",
)
STATUS_READ = Code(
    "ASP022",
    "a status of the module mpi_f08 that is read through a pointer",
    "The wait gives the status instead of the call, to the variable that the call names.  A "
    "pointer may lead to another one by then; or the type of the variable is not known.",
    "Give the call a variable of type MPI_Status that is no pointer and no part of one, or "
    "MPI_STATUS_IGNORE where the status is not needed.",
)
STAYS = Code(
    "ASP023",
    "a transfer that has to stay as it is",
    "The statement has a label, a directive or a preprocessor line, or shares its line with others "
    "(or the whole procedure has directives of OpenMP or OpenACC); or a count, rank or tag is no "
    "integer of the default kind.  A barrier stays, too: what stands behind it, such as output or "
    "the reading of a clock, may rely on it that all ranks have come there.  And so does an "
    "operation of neighbours: where two of them are one rank (a periodic dimension of two ranks or "
    "one), Open MPI pairs their blocks in another order when the operation does not block.",
    "Write the call as a statement on a line of its own, with default integers.  Leave a barrier "
    "out if nothing relies on it.  Exchange with neighbours in messages.",
)

ELSEWHERE = Code(
    "ASP024",
    "a collective operation that ranks may meet elsewhere",
    "A blocking collective operation does not match a non-blocking one: the form of a call may "
    "only change where no rank can be in another call instead.  It is not proved that all ranks "
    "come together to each call of the operation in the program; or ranks share memory, and may "
    "rely on the moment at which it is complete.",
    "Let all ranks take the same way to every call of the operation, and give asphalt the whole "
    "program.",
)
DIGITS = Code(
    "ASP025",
    "a reduction whose last digits may change",
    "The non-blocking form of a reduction may combine the values of the ranks in another order.  "
    "Sums and products of numbers of floating point get other last digits by that; what an "
    "operation of the program's own does is not known.",
    "Accept it with `--assume bits`, for operations of the standard.",
)

NOTHING_BESIDE = Code(
    "ASP026",
    "a transfer that no work comes beside",
    "The call could be made non-blocking, but what stands between it and the first use of its "
    "buffers, and what could be moved there, is no loop and no call; or all that was tried would "
    "cost more than it hides.  The message names the first statement that the wait for the "
    "transfer, or its start, may not pass on the way to such work, and why.",
    "Let work that does not need the message stand in front of its first use, in the same "
    "procedure, with no timers, output or blocking calls of MPI between.",
)

STAY_BLOCKING = (ERROR_READ, NO_VARIABLE, STATUS_READ, STAYS, ELSEWHERE, DIGITS, NOTHING_BESIDE)
"""Why a blocking transfer or collective operation is not made non-blocking."""
CODES = (NOT_YET, UNMATCHED, UNKNOWN, *STAY_BLOCKING)


def verdict(found: Match) -> Refused:
    """What is reported about a start, a wait or a blocking transfer."""
    span = found.leaf.span
    if isinstance(found, Matched):
        verb = "meets" if found.is_blocking else "is completed by"
        message = f"{found.call.procedure.spelled} {verb} {_lines(found.partners)}"
        if found.directive is not None:
            message += f", as match({found.directive}) says"
        return Refused(NOT_YET, message, span, _lines(found.partners))
    code = UNMATCHED if isinstance(found, Unmatched) else UNKNOWN
    return refused_by(code, found.reason, span, found.path)


def _lines(partners: tuple[Leaf, ...]) -> str:
    lines = [str(leaf.span.first) for leaf in partners if leaf.span is not None]
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {' and '.join(lines)}"
