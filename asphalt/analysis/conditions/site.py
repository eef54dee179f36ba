"""Condition 0: the call can be prepushed at all, and its text can be edited."""

from __future__ import annotations

from asphalt.analysis.call_graph.missing_sources import unknown_module
from asphalt.analysis.conditions import open_coded
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.missing_inputs import first_missing, undeclared_constant
from asphalt.analysis.exchange.per_rank import Uneven, uneven_blocks
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.exchange.site_directives import site_directives
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.names.used_names import used_names
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Mark, Refused
from asphalt.ir.conditionals import is_conditional
from asphalt.ir.insertion import takes_declarations
from asphalt.ir.program import Located
from asphalt.ir.source import OF_THE_PREPROCESSOR, Span
from asphalt.ir.stmt import Include, Opaque, Raw, Use
from asphalt.ir.tree import Block, Leaf, leaves

OPERATION = Code(
    "ASP001",
    "this operation is not prepushed",
    "The call exchanges data between all ranks, but it is not a blocking MPI_ALLTOALL or "
    "MPI_ALLTOALLV: it returns before the data has arrived, or has a datatype for each rank.",
    "Use `--passes transfers`, which overlaps the operation as a whole.  If all blocks have one "
    "datatype, use MPI_ALLTOALLV, which is prepushed.",
)
IN_PLACE = Code(
    "ASP002",
    "the exchange is in place (MPI_IN_PLACE)",
    "The send buffer is the receive buffer: a piece that arrives early would overwrite data that "
    "has not been sent.",
    "Use two buffers.",
)
BUFFER = Code(
    "ASP003",
    "a buffer argument is not a contiguous part of an array",
    "The argument is a section with gaps, an expression, a component of an element of an array of "
    "structures, or a component that is reached through a pointer.",
    "Pass an array, one of its elements, or a section of whole leading dimensions.",
)
TEXT = Code(
    "ASP004",
    "the text cannot be edited safely",
    "Between the producer and the call stands text that a macro has changed, a `#define` or "
    "`#include`, a label that is jumped to, or several statements on one line.  Or it is not clear "
    "for which configurations of the preprocessor the proof holds: the changed lines stand under "
    "the conditions that the program had under the `-D` of the analysis, and these cannot be "
    "repeated there.",
    "Put the statements on lines of their own, without macros.  Where a macro is named, do not "
    "define it between the two places.",
)
PARSERS = Code(
    "ASP005",
    "two parsers disagree about a statement",
    "Two independently written parsers read every statement from the producer to the call, and "
    "every declaration of the unit and its hosts.  They understand one of these statements "
    "differently, so no proof about it can be relied on.",
    "Write the statement in a plainer way, for example with more parentheses.  Please report it: "
    "one of the parsers is wrong.",
)
BINDING = Code(
    "ASP007",
    "the binding of MPI is not known",
    "The call has the name of an MPI procedure, but the module or include file that may declare "
    "it is not among the given files: its handles may be integers or derived types.  Or an MPI "
    "constant that is passed is not declared: neither the procedure nor its hosts have `use mpi`, "
    "`use mpi_f08` or include 'mpif.h'.",
    "Give asphalt the file, or its directory with -I; or add the line that the message names.",
)
NOT_GIVEN = Code(
    "ASP013",
    "a module of the program is not given",
    "The procedure uses a module that is not among the given files.  Without ONLY, any name in "
    "the procedure may come from the module; with ONLY, the meaning of the listed names is not "
    "known.",
    "Give asphalt the file of the module, or the whole tree.",
)
SKIP = Code(
    "ASP006",
    "skipped on request",
    "A directive `!$asphalt skip` stands in front of the call or of its producer, or among the "
    "declarations of the procedure.  For a transfer between two ranks, the directive also covers "
    "the call that completes it.",
    "Remove the directive to have the site transformed.",
)

LISTS = Code(
    "ASP009",
    "counts or displacements are not elements of an array",
    "MPI_ALLTOALLV has a count and a displacement for each rank.  To send parts of a block, "
    "asphalt needs them one by one, from an integer array or a run of its first dimension; it "
    "does not analyse expressions or a column of a larger array.",
    "Copy them into an array before the nest.",
)

WRAPPER = Code(
    "ASP008",
    "the exchange is in a procedure that does more than exchange",
    "The call is that of a procedure that passes its arguments on to an exchange.  asphalt treats "
    "it like the exchange itself if the procedure does nothing else, apart from setting local "
    "variables and testing the error code, and if the caller can write every argument of the "
    "exchange with what it passes and the MPI constants that it can access.",
    "Leave only the exchange in the procedure, with dummy arguments as its arguments, and use the "
    "same MPI module in the caller; or call MPI where the data is computed.",
)

CODES = (OPERATION, LISTS, IN_PLACE, BUFFER, TEXT, BINDING, PARSERS, SKIP, WRAPPER, NOT_GIVEN)


_FAMILIES = ("alltoall", "alltoallv")
_FUNCTIONS_USED = ("all", "int", "kind", "max", "merge", "mod", "storage_size")


def refused_binding(call: MpiCall, located: Located, scope: Scope, span: Span | None) -> Refused:
    """The refusal of a call whose binding is not known."""
    name = call.procedure.spelled
    why, cause = f"{name} comes from a module or an include file that is not given", None
    missing = unknown_module(name.lower(), scope)
    if missing is not None:
        why, cause = f"{name} may come from a module: {missing.why}", missing.cause
    return Refused(BINDING, why, span, cause=cause)


def check(exchange: Exchange) -> Answer:
    """Whether the call is a blocking MPI_ALLTOALL or MPI_ALLTOALLV of two whole arrays."""
    call, procedure = exchange.call, exchange.call.procedure
    arguments = procedure.exchange
    assert arguments is not None
    if exchange.open_coded is not None:
        answer = open_coded.check(exchange)
        if isinstance(answer, Refused) or call.binding != "unknown":
            return answer
    reason = exchange.opaque or exchange.unnamed
    if reason is not None:
        return _wrapped(exchange, reason)
    if arguments.family not in _FAMILIES or procedure.timing is not Timing.BLOCKING:
        message = (
            f"{procedure.spelled} is not prepushed; use --passes transfers to overlap it as a whole"
        )
        return Refused(OPERATION, message, exchange.span)
    if call.binding == "unknown":
        return refused_binding(call, exchange.located, exchange.scope, exchange.span)
    undeclared = undeclared_constant(call, exchange.scope) if exchange.wrapper is None else None
    if undeclared is not None:
        return Refused(BINDING, undeclared.why, exchange.span, marks=marked(undeclared.mark))
    if call.in_place(exchange.scope):
        return Refused(IN_PLACE, "the exchange is done in place", exchange.span)
    for argument in (arguments.send, arguments.receive):
        if call.anywhere(exchange.scope) or buffer_of(exchange, argument) is None:
            message = f"{argument} is not a contiguous part of an array"
            return Refused(BUFFER, message, exchange.span)
    if arguments.send_displacements is None:
        return Holds("a blocking exchange of equal blocks of two arrays")
    blocks = uneven_blocks(exchange)
    if not isinstance(blocks, Uneven):
        message = f"{blocks} is not an array with one integer for each rank"
        return Refused(LISTS, message, exchange.span)
    return Holds("a blocking exchange of blocks of two arrays, with counts in arrays")


def check_modules(exchange: Exchange) -> Answer:
    """Whether all modules are given from which a name of the unit may come."""
    missing = first_missing(exchange.scope)
    if missing is None:
        return Holds("all modules are given from which names may come")
    message = f"{missing.why}: any name here may come from it"
    marks = marked(missing.mark)
    return Refused(NOT_GIVEN, message, exchange.span, marks=marks, cause=missing.cause)


def marked(mark: Mark | None) -> tuple[Mark, ...]:
    """The mark as the marks of a refusal."""
    return () if mark is None else (mark,)


def _wrapped(exchange: Exchange, reason: str) -> Refused:
    """The refusal of a call of a procedure around an exchange, with the path to the exchange."""
    steps = [exchange.span, *(mark.span for mark in exchange.via)]
    way = " -> ".join(f"{span.file}:{span.first}" for span in steps)
    return Refused(WRAPPER, reason, exchange.span, f"the path to MPI: {way}", exchange.via)


def check_skip(exchange: Exchange, start: int | None = None) -> Answer:
    """Whether no directive skips the site; ``start``: the position of its producer."""
    found = site_directives(exchange, start)
    found.check()
    if found.skip is not None:
        message = f"skipped by the directive in line {found.skip.line}"
        return Refused(SKIP, message, exchange.span)
    return Holds("no directive skips it")


def check_text(exchange: Exchange, start: int) -> Answer:
    """Whether the text from the producer to the call can be edited."""
    skip = check_skip(exchange, start)
    if isinstance(skip, Refused):
        return skip
    place = _insertable(exchange)
    if isinstance(place, Refused):
        return place
    position = exchange.place.position
    nodes = (*exchange.place.siblings[start:position], *exchange.written)
    heads = [leaf for node in nodes for leaf in leaves(node)]
    first = heads[0]
    for leaf in heads:
        for trivia in leaf.lead:
            plain = trivia.kind not in OF_THE_PREPROCESSOR or is_conditional(trivia)
            if not plain and leaf is not first:
                message = "preprocessor lines stand between the producer and the call"
                return Refused(TEXT, message, leaf.span, trivia.text.strip())
        if leaf.frozen and not leaf.is_hidden:  # of which condition 7 tells
            message = "the text of a statement comes from a macro or an included file"
            return Refused(TEXT, message, leaf.span)
    for node in nodes:
        own = tuple(leaves(node))
        if own[0].joined or _continues(own[-1]):
            return Refused(TEXT, "several statements stand on one line", own[0].span)
    for around in exchange.place.around:
        if isinstance(around, Block) and around.kind == "block" and _declares_openly(around):
            message = "a BLOCK construct around the call may declare any name"
            return Refused(TEXT, message, around.head.span)
    if any(leaf.label is not None for node in exchange.written for leaf in leaves(node)):
        return Refused(TEXT, "the call has a label", exchange.span)
    return Holds("the text can be edited")


def _declares_openly(block: Block) -> bool:
    """Whether a BLOCK construct may declare names that its declarations do not list."""
    return any(
        isinstance(child, Leaf)
        and (
            isinstance(child.what, Include | Raw | Opaque)
            or (isinstance(child.what, Use) and not child.what.only)
        )
        for child in block.body
    )


def _insertable(exchange: Exchange) -> Answer:
    """Whether new declarations fit into the unit under every configuration."""
    unit, scope = exchange.scope.unit, exchange.scope
    for leaf in leaves(unit):
        if "asphalt_" in (leaf.body or "").lower():
            message = "the procedure uses names that begin with asphalt_"
            return Refused(TEXT, message, leaf.span or exchange.span)
    if any(name.startswith("asphalt_") for name in used_names(scope)):
        message = "a module that the procedure uses has names that begin with asphalt_"
        return Refused(TEXT, message, exchange.span)
    for name in _FUNCTIONS_USED:
        symbol = scope.lookup(name)
        if symbol is None or symbol.origin is not Origin.INTRINSIC:
            message = f"the unit uses the name of the function {name.upper()} for something else"
            return Refused(TEXT, message, exchange.span)
    if not takes_declarations(unit):
        message = "new declarations would stand on a line with other statements"
        return Refused(TEXT, message, exchange.span)
    return Holds("declarations can be added")


def _continues(leaf: Leaf) -> bool:
    return leaf.trail.lstrip().startswith(";")
