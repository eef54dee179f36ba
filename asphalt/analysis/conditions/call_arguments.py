"""Arguments of MPI calls that are errors by themselves, whatever other ranks do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.call_graph.definitions import is_user_function
from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.certain_ranks import is_rank
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_constant, predefined_type
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.analysis.names.designators import designator_name, spelled_designator, symbol_named
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.names.symbol import Symbol
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, OpaqueExpr, Ref, Section, walk
from asphalt.ir.stmt import Assign
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

CODES = (OVERLAPPING, TOO_LONG, NO_ERROR_CODE)
_ROOTED = {"sendbuf": ("mpi_scatter", "mpi_iscatter", "mpi_scatter_init")}
"""Of operations with a root, the buffers that are significant at the root alone; of all others, it
is the one in which the root receives."""
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


def of_arguments(facts: UnitFacts, messages: Messages) -> Iterator[Refused]:
    """The errors in the arguments of the calls of a unit."""
    for leaf, call in messages.written_calls():
        found = tuple(_of_call(leaf, call, facts)) if leaf.span and not leaf.is_hidden else ()
        if found and not facts.executed.never(leaf):  # asked last, for it takes long
            yield from found


def _of_call(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> Iterator[Refused]:
    """The errors in the arguments of a call, if it is executed."""
    if call.binding == "mpif.h" and _lacks_code(call):
        message = f"its argument {len(call.procedure.parameters)}, the error code, is missing"
        yield Refused(NO_ERROR_CODE, message, leaf.span)
    for buffer in ("buf", "buffer", "sendbuf", "recvbuf"):
        why = _too_long(buffer, leaf, call, facts)
        if why is not None:
            yield Refused(TOO_LONG, why, leaf.span)
    why = _overlapping(leaf, call, facts)
    if why is not None:
        yield Refused(OVERLAPPING, why, leaf.span)


def _lacks_code(call: MpiCall) -> bool:
    last = call.procedure.parameters[-1:]
    return bool(last) and last[0].kind == "ERROR_CODE" and call.error is None


def _too_long(buffer: str, leaf: Leaf, call: MpiCall, facts: UnitFacts) -> str | None:
    """Why a message is certainly longer than its buffer."""
    message = _message(buffer, call, facts)
    rooted = "root" in call.args and buffer != "buffer"
    at_root = (buffer == "recvbuf") != (call.procedure.name in _ROOTED["sendbuf"])
    if message is None or message.type is None or (rooted and at_root):
        return None
    passed, kind = message.passed, message.type
    if not isinstance(passed, Ref):
        return None  # behind a component, there may be others
    if "root" in call.args and not is_rank(call.args["root"], leaf, facts):
        return None  # of an intercommunicator, perhaps
    ends = [call.args[name] for name in ("dest", "source") if name in call.args]
    if any(mpi_constant(end, facts.scope) == "mpi_proc_null" for end in ends):
        return None
    symbol = facts.scope.lookup(passed.name)
    room = None if symbol is None else _bytes_behind(passed, symbol, leaf, facts)
    if symbol is None or room is None or kind.bytes is None:
        return None
    count = _value(message.count, leaf, facts)
    if count is None:
        return None
    if count * kind.bytes <= room * (1 if _size_is_sure(symbol, kind) else 2):
        return None
    long = f"{count} of {kind.name.upper()} are {count * kind.bytes} bytes"
    return f"{long}, and {passed.spelled} has {room} from the first element that is passed"


def _size_is_sure(symbol: Symbol, kind: PredefinedType) -> bool:
    """Whether no option of the compiler gives a variable more bytes and the message not: some
    double the default kinds of REAL and COMPLEX, but not MPI_REAL8, say."""
    assert symbol.type is not None
    default = symbol.type.kind is None
    if symbol.type.base in ("integer", "logical") or isinstance(symbol.type.kind, Lit):
        return True
    return default and kind.name == f"mpi_{symbol.type.base}"


def _bytes_behind(passed: Ref, symbol: Symbol, leaf: Leaf, facts: UnitFacts) -> int | None:
    """The bytes of a variable from the first element that is passed; None: not known, or there may
    be more of its storage behind it."""
    own = symbol.origin in (Origin.LOCAL, Origin.MODULE) and not symbol.equivalenced
    attrs = {"allocatable", "pointer", "external", "cray_pointer"} & symbol.attrs
    if not own or attrs or symbol.common_block is not None or symbol.type is None:
        return None
    if symbol.type.base not in (
        "integer",
        "logical",
        "real",
        "complex",
        "double_precision",
        "double_complex",
    ):
        return None
    home = symbol.home or facts.scope
    each = element_bytes(symbol, home)
    if each is None:
        return None
    if symbol.dims is None:
        return each if passed.args is None else None
    total, place, stride = 1, 0, 1
    indexes: tuple[Arg | None, ...] = passed.args or (None,) * len(symbol.dims)
    if len(indexes) != len(symbol.dims):
        return None
    for dim, index in zip(symbol.dims, indexes, strict=True):
        last = None if dim.upper is None else constant(dim.upper, home)
        lower = 1 if dim.lower is None else constant(dim.lower, home)
        if dim.kind != "explicit" or last is None or lower is None:
            return None
        first = lower
        if index is not None:
            start = index.lower if isinstance(index, Section) else index
            if isinstance(index, Section) and index.stride is not None:
                return None
            known = None
            if isinstance(start, Ref | Lit | Op):
                known = _value(start, leaf, facts)
            if start is not None and known is None:
                return None
            first = lower if known is None else known
        place += (first - lower) * stride
        total *= max(0, last - lower + 1)
        stride = total
    return max(0, total - place) * each


@dataclass(frozen=True, slots=True)
class _Message:
    """A buffer of a call that is an object with a name, and the count and the predefined type of
    what it holds (None: another type)."""

    passed: Ref | Component
    count: Expr
    type: PredefinedType | None


def _message(buffer: str, call: MpiCall, facts: UnitFacts) -> _Message | None:
    passed = call.args.get(buffer)
    names = {"sendbuf": ("sendcount", "sendtype"), "recvbuf": ("recvcount", "recvtype")}
    count_name, type_name = names.get(buffer, ("count", "datatype"))
    count = call.args.get(count_name, call.args.get("count"))
    kind = call.args.get(type_name, call.args.get("datatype"))
    counted = next((p for p in call.procedure.parameters if p.name == count_name), None)
    if not isinstance(passed, Ref | Component) or mpi_constant(passed, facts.scope) is not None:
        return None
    if count is None or kind is None or (counted is not None and counted.array):
        return None
    return _Message(passed, count, predefined_type(kind, facts.scope))


def _overlapping(leaf: Leaf, call: MpiCall, facts: UnitFacts) -> str | None:
    """Why the two buffers of a call certainly overlap."""
    out, into = _message("sendbuf", call, facts), _message("recvbuf", call, facts)
    name = None if out is None else designator_name(out.passed)
    if out is None or into is None or name is None or name != designator_name(into.passed):
        return None
    sent, received = out.passed, into.passed
    many, more = (_value(one.count, leaf, facts) for one in (out, into))
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


def _value(expr: Expr, leaf: Leaf, facts: UnitFacts) -> int | None:
    """The value of an expression in a statement.

    The values of the unit, which take long to find, are asked only if each variable of the
    expression is assigned once in it, of such variables and constants.
    """
    known = constants_in(expr, facts.scope).value
    if known is not None or not _may_be_known(expr, facts, frozenset()):
        return known
    return facts.values.polynomial(expr, leaf).value


def _may_be_known(expr: Expr, facts: UnitFacts, within: frozenset[str]) -> bool:
    """Whether an expression may have one known value; ``within``: the variables whose only
    assignments led to it."""
    for part in walk(expr):
        if isinstance(part, Ref) and part.args is None and constant(part, facts.scope) is None:
            given = facts.once(_assigned).get(part.name, [])
            if len(given) != 1 or part.name in within:
                return False
            if not _may_be_known(given[0], facts, within | {part.name}):
                return False
    return True


def _assigned(facts: UnitFacts) -> dict[str, list[Expr]]:
    """What the statements of the unit assign to each scalar variable."""
    found: dict[str, list[Expr]] = {}
    for what in (leaf.action for node in facts.unit.body for leaf in leaves(node)):
        if isinstance(what, Assign) and isinstance(what.target, Ref) and what.target.args is None:
            found.setdefault(what.target.name, []).append(what.value)
    return found


def _may_call(passed: Ref | Component, facts: UnitFacts) -> bool:
    """Whether a subscript may reference a function of the program, which gives another value each
    time."""
    parts = (part for arg in passed.args or () for part in walk(arg))
    return any(
        isinstance(part, OpaqueExpr)
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
