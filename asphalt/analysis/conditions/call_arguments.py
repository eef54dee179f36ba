"""Arguments of MPI calls that are errors by themselves, whatever other ranks do."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.definitions import is_user_function
from asphalt.analysis.conditions.long_messages import message_of, too_long, value_of
from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.dead_statements import is_dead
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.certain_ranks import is_rank
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_constant, overfull
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.names.designators import designator_name, spelled_designator, symbol_named
from asphalt.analysis.names.symbol import Symbol
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.ir.expr import Component, Lit, Op, Ref, Unstructured, walk
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, leaves

OVERLAPPING = Code(
    "ASP035",
    "one buffer for what is sent and what is received",
    "The call sends from elements of a variable in which it receives.  The buffers of one call "
    "must not overlap, neither those of a collective operation (MPI-4.0 section 6.2.4: no "
    "aliasing) nor those of MPI_SENDRECV (section 3.10).",
    "Receive in another variable; or give MPI_IN_PLACE as the buffer to send from, or call "
    "MPI_SENDRECV_REPLACE.",
)
TOO_LONG = Code(
    "ASP036",
    "a message that is longer than its buffer",
    "The count and the type of a message are more bytes than the variable has from the first "
    "element that is passed to its end: the call accesses memory behind it.",
    "Give the variable the type and the number of elements of the message, or the message the "
    "count and the type of the variable.",
)
NO_ERROR_CODE = Code(
    "ASP037",
    "a call without its error code",
    "The last argument of a call, IERROR, is missing.  Without an interface of the procedure, as "
    "with `mpif.h`, the compiler does not notice it, and the call stores the code at an address "
    "that it was not given (MPI-4.0 section 19.1.4).",
    "Pass an integer variable as the last argument, or use the module `mpi_f08`.",
)
OVERFULL = Code(
    "ASP038",
    "a call with more arguments than the procedure has",
    "Without an interface of the procedure, as with `mpif.h`, the compiler does not notice it: "
    "what stands in the place of IERROR gets the error code, and the variable behind it stays as "
    "it was.  A program may count on neither (MPI-4.0 section 19.1.4).",
    "Pass the arguments of the MPI standard.  MPI_SEND, for one, has no status.",
)

CODES = (OVERLAPPING, TOO_LONG, NO_ERROR_CODE, OVERFULL)
_BETWEEN_GROUPS = frozenset(
    f"mpi_{name}"
    for name in (
        "comm_accept",
        "comm_connect",
        "comm_get_parent",
        "comm_join",
        "comm_spawn",
        "comm_spawn_multiple",
        "intercomm_create",
        "intercomm_create_from_groups",
    )
)
"""What makes intercommunicators of others."""


def of_arguments(facts: UnitFacts, messages: Messages, sites: CallSites) -> Iterator[Refused]:
    """The errors in the arguments of the calls of a unit."""
    for leaf in (leaf for node in facts.unit.body for leaf in leaves(node)):
        more = None if leaf.call is None else _more_than_it_has(leaf, leaf.call, facts)
        if more is not None and not (facts.executed.never(leaf) or is_dead(leaf, facts)):
            yield more
    for leaf, call in messages.written_calls():
        found = (
            tuple(_of_call(leaf, call, facts, sites)) if leaf.span and not leaf.is_hidden else ()
        )
        if found and not (facts.executed.never(leaf) or is_dead(leaf, facts)):
            yield from found  # asked last, for it takes long


def _of_call(leaf: Leaf, call: MpiCall, facts: UnitFacts, sites: CallSites) -> Iterator[Refused]:
    """The errors in the arguments of a call, if it is executed."""
    if call.binding == "mpif.h" and _lacks_code(call):
        message = f"its argument {len(call.procedure.parameters)}, the error code, is missing"
        yield Refused(NO_ERROR_CODE, message, leaf.span)
    for buffer in ("buf", "buffer", "sendbuf", "recvbuf"):
        long = too_long(buffer, leaf, call, facts, sites)
        if long is not None:
            yield Refused(TOO_LONG, long.why, leaf.span, marks=long.marks)
    why = _overlapping(leaf, call, facts)
    if why is not None:
        yield Refused(OVERLAPPING, why, leaf.span)


def _more_than_it_has(leaf: Leaf, call: Call, facts: UnitFacts) -> Refused | None:
    procedure = overfull(call, facts.scope)
    if procedure is None or leaf.span is None or leaf.is_hidden:
        return None
    given, has = len(call.args), len(procedure.parameters)
    message = f"it has {given} arguments, and {procedure.spelled} has {has}"
    last, code = call.args[has - 1], procedure.parameters[-1:]
    if code and code[0].kind == "ERROR_CODE" and isinstance(last, Ref | Component):
        message += f": {spelled_designator(last)} gets the error code"
    return Refused(OVERFULL, message, leaf.span)


def _lacks_code(call: MpiCall) -> bool:
    last = call.procedure.parameters[-1:]
    return bool(last) and last[0].kind == "ERROR_CODE" and call.error is None


def _overlapping(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> str | None:
    """Why the two buffers of a call certainly overlap."""
    out, into = message_of("sendbuf", call, facts), message_of("recvbuf", call, facts)
    name = None if out is None else designator_name(out.passed)
    if out is None or into is None or name is None or name != designator_name(into.passed):
        return None
    sent, received = out.passed, into.passed
    many, more = (value_of(one.count, leaf, facts) for one in (out, into))
    if many is None or more is None or many < 1 or more < 1:
        return None
    if "neighbor" in call.procedure.name:
        return None  # perhaps the rank has none
    ends = [call.args[name] for name in ("dest", "source") if name in call.args]
    if any(mpi_constant(end, facts.scope) is not None for end in ends):
        return None  # nothing is sent, or nothing received
    symbol = symbol_named(name, facts.scope)
    if symbol is None or not symbol.origin.is_variable or symbol.attrs & {"external", "pointer"}:
        return None
    if sent.args is not None and symbol.dims is None:
        return None
    spelled = spelled_designator(sent)
    if _may_call(sent, facts) or _may_call(received, facts):
        return None
    if folded_expr(sent) == folded_expr(received):
        if not _has_both(call, leaf, facts):
            return None
        return f"it sends from {spelled} and receives in the same elements"
    each = element_bytes(symbol, symbol.home or facts.scope)
    if not (each and out.type and into.type and out.type.bytes == into.type.bytes == each):
        return None
    starts = [_start(one, symbol, leaf, facts) for one in (sent, received)]
    if starts[0] is None or starts[1] is None:
        return None
    distance = (starts[1] - starts[0]).value
    if distance is None or not -more < distance < many or not _has_both(call, leaf, facts):
        return None
    return f"it sends {many} elements of {spelled} and receives {more} that overlap with them"


def _may_call(passed: Ref | Component, facts: UnitFacts) -> bool:
    """Whether a subscript may reference a function of the program, which gives another value each
    time."""
    parts = (part for arg in passed.args or () for part in walk(arg))
    return any(
        isinstance(part, Unstructured)
        or (isinstance(part, Component) and part.args is not None)
        or (isinstance(part, Ref) and part.args is not None and is_user_function(part, facts.scope))
        for part in parts
    )


def _start(passed: Ref | Component, symbol: Symbol, leaf: Leaf, facts: UnitFacts) -> Poly | None:
    """The subscript of the first element of a vector that is passed."""
    if symbol.dims is None or len(symbol.dims) != 1:
        return None
    lower = symbol.dims[0].lower or Lit("integer", "1")
    if passed.args is None:
        if symbol.dims[0].kind == "explicit":
            return constants_in(lower, facts.scope)
        name = designator_name(passed)
        shape = None if name is None else shape_of(name, facts.scope, facts.values, leaf)
        return None if shape is None else shape.lower[0]
    (index,) = passed.args
    if not isinstance(index, Ref | Component | Lit | Op):
        return None
    known = constants_in(index, facts.scope)
    return known if known.value is not None else facts.values.polynomial(index, leaf)


def _has_both(call: MpiCall, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether some rank that executes a call sends and receives."""
    ends = [call.args[name] for name in ("dest", "source", "root") if name in call.args]
    if not all(is_rank(end, leaf, facts) for end in ends):
        return False
    if "root" not in call.args:
        return True
    return _is_executed_by_all(leaf, facts) and not _may_be_between_groups(call, facts)


def _may_be_between_groups(call: MpiCall, facts: UnitFacts) -> bool:
    """Whether the communicator of a call may be an intercommunicator, in which no root has both
    buffers."""
    if mpi_constant(call.args["comm"], facts.scope) is not None:
        return False
    called = {mention.operation for mention in facts.scope.program.mpi_calls()}
    return any(name.removeprefix("p") in _BETWEEN_GROUPS for name in called)


def _is_executed_by_all(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether every rank executes a statement of the main program."""
    point = facts.reaching.graph.action(leaf)
    if facts.unit.kind != "program" or point is None:
        return False
    return facts.reaching.dominance.post_dominators_with_stop.dominates(point, ENTRY)
