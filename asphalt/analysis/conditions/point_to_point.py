"""Transfers between two ranks, and operations with requests: reported only on request."""

from __future__ import annotations

from asphalt.analysis.conditions.equally_often import refused_by
from asphalt.analysis.requests.matching import Match, Matched, Unmatched
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.ir.tree import Leaf

NOT_YET = Code(
    "ASP010",
    "transfers between two ranks are only transformed on request",
    "The call starts an operation whose completion is known: on every path from it, a call "
    "completes it before the procedure returns or the request is used again.  `scan --all` lists "
    "it; `apply` transforms it only if `--passes` names the transformations for such transfers.",
    "Try `--passes transfers`; `diff` shows the result.",
)
UNMATCHED = Code(
    "ASP011",
    "an operation that may not be completed, or a wait without an operation",
    "On some path from the call, nothing completes the operation before the procedure returns or "
    "a call uses the same request again; or no operation reaches the wait.  MPI may access the "
    "buffer of such an operation at any later time, and its request is lost.",
    "Wait for the request on the path that the witness shows.",
)
UNKNOWN = Code(
    "ASP012",
    "it is not known what completes the operation",
    "Whether the operation is complete depends on a flag, on which of several requests is "
    "complete, on another procedure, or on conditions that may exclude each other; or the other "
    "side of a blocking transfer is not known.",
    "State which statements of a procedure belong together, with `!$asphalt match(id)` in front of "
    "each of them.  What another procedure completes cannot be stated.",
)

ERROR_READ = Code(
    "ASP020",
    "the error code of a transfer is read",
    "A later statement may read the error code of the call, or the caller may, where the code is "
    "a dummy argument or a module variable.  A transfer that is made non-blocking fails later, at "
    "its wait.  With MPI_ERRORS_ARE_FATAL, the default, the code is always MPI_SUCCESS; but the "
    "program sets another error handler, or asphalt does not see the whole program, and the rest "
    "may set one.",
    "Give asphalt the whole program, with its main program and all that it calls; or, if nothing "
    "sets an error handler, accept that with `--assume fatal`; or remove the test of the code.",
)
NO_VARIABLE = Code(
    "ASP021",
    "the buffer of a transfer may be a copy",
    "The compiler passes a copy of a section with gaps, of an expression, or of an array that may "
    "have gaps.  The copy is gone when a non-blocking call returns.",
    "Pass a contiguous array, or a contiguous part of one.",
)
STATUS_READ = Code(
    "ASP022",
    "the status of a transfer may be another variable at its wait",
    "The wait would set the status instead of the call, in the variable of type MPI_Status that "
    "the call names.  A pointer may be associated with another target by then; or the type of the "
    "variable is not known.",
    "Give the call a variable of type MPI_Status that is no pointer and no part of one, or "
    "MPI_STATUS_IGNORE where the status is not needed.",
)
STAYS = Code(
    "ASP023",
    "a transfer that cannot be made non-blocking",
    "The statement has a label or a directive, comes from a macro or from an included file that "
    "is not changed, or shares its line with others; or it is in a parallel loop; or the procedure "
    "has directives of OpenMP that are more than one parallel loop, directives of OpenACC, or "
    "lines behind `!$` that asphalt does not understand; or a variable that each thread has for "
    "itself is used behind its loop.  Or the call receives what its own arguments evaluate.  Or a "
    "count, rank or tag is not a default integer.  Or the operation is a barrier: statements "
    "behind it, such as output or the reading of a clock, may rely on all ranks having reached "
    "it.  Or it is an operation of neighbours: where two of them are the same rank (a periodic "
    "dimension of two ranks or one), Open MPI pairs the blocks of the non-blocking operation in "
    "another order.",
    "Write the call as a statement on a line of its own, with default integers.  Remove a barrier "
    "if nothing relies on it.  Exchange with neighbours by messages.",
)

ELSEWHERE = Code(
    "ASP024",
    "a collective operation that ranks may call elsewhere",
    "A blocking collective operation does not match a non-blocking one, so a call may only change "
    "its form where no rank can be in another call instead.  It is not proved that all ranks "
    "reach each call of the operation in the program together; or ranks share memory, and may "
    "rely on the moment at which the operation is complete.",
    "Let all ranks take the same path to every call of the operation, and give asphalt the whole "
    "program.  Where only the proof is missing, accept it with `--assume control` or a directive "
    "`!$asphalt assume(control)` in front of the call.",
)
DIGITS = Code(
    "ASP025",
    "a reduction whose last digits may change",
    "The non-blocking form of a reduction may combine the values of the ranks in another order, "
    "which changes the last digits of floating-point sums and products.  What a user-defined "
    "operation does is not known.",
    "Accept it with `--assume bits`, for predefined operations.",
)

NOTHING_BESIDE = Code(
    "ASP026",
    "a transfer without computation to overlap",
    "The call could be made non-blocking, but no loop and no call stands between it and the first "
    "use of its buffers, or can be moved there; or every step that was tried would cost more than "
    "it hides.  The message names the first statement that the wait for the transfer (below), or "
    "its start (above), cannot move past on the way to computation, and why.  If only the callers "
    "of its procedure compute, the message also names the call, and what stands in the way there: "
    "a step that was tried and what it would cost, what keeps the computation where it is, or why "
    "the procedure is not inlined.",
    "Place computation that does not need the message before its first use, in the same "
    "procedure, with no timers, output or blocking MPI calls between.",
)

STAY_BLOCKING = (ERROR_READ, NO_VARIABLE, STATUS_READ, STAYS, ELSEWHERE, DIGITS, NOTHING_BESIDE)
"""Why a blocking transfer or collective operation is not made non-blocking."""
CODES = (NOT_YET, UNMATCHED, UNKNOWN, *STAY_BLOCKING)


def verdict(found: Match) -> Refused:
    """The report on a start, a wait or a blocking transfer."""
    span = found.leaf.span
    if isinstance(found, Matched):
        verb = "is matched by" if found.is_blocking else "is completed by"
        message = f"{found.call.procedure.spelled} {verb} {_lines(found.partners)}"
        if found.directive is not None:
            message += f", as match({found.directive}) says"
        return Refused(NOT_YET, message, span, _lines(found.partners))
    code = UNMATCHED if isinstance(found, Unmatched) else UNKNOWN
    return refused_by(code, found.reason, span, found.path)


def _lines(partners: tuple[Leaf, ...]) -> str:
    lines = [str(leaf.span.first) for leaf in partners if leaf.span is not None]
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {' and '.join(lines)}"
