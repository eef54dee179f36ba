"""Messages that are certainly longer than the variable that they leave from, or arrive in."""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import CallSite, CallSites
from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.dead_statements import is_dead
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.certain_ranks import is_rank
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.datatypes import PredefinedType
from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.names.symbol import Symbol
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.verdicts.verdict import Mark
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref, Section, walk
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Assign, Dim
from asphalt.ir.tree import Leaf, leaves

ROOTED = {"sendbuf": ("mpi_scatter", "mpi_iscatter", "mpi_scatter_init")}
"""Of operations with a root, the buffers that are significant at the root alone; of all others, it
is the one in which the root receives."""
_BASES = ("integer", "logical", "real", "complex", "double_precision", "double_complex")
_ONE = Lit("integer", "1")


@record
class Message:
    """A buffer of a call that is an object with a name, and the count and the predefined type of
    what it holds (None: another type)."""

    passed: Ref | Component
    count: Expr
    type: PredefinedType | None


def message_of(buffer: str, call: MpiCall, facts: UnitFacts) -> Message | None:
    """What a buffer of a call holds; None: it is not told by one count."""
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
    return Message(passed, count, datatype_of(kind, facts.scope))


@record
class TooLong:
    """A message that is longer than its buffer; ``marks``: where the buffer is passed from."""

    why: str
    marks: tuple[Mark, ...] = ()


def too_long(
    buffer: str, leaf: Leaf, call: MpiCall, facts: UnitFacts, sites: CallSites
) -> TooLong | None:
    """Why a message is certainly longer than its buffer."""
    message = message_of(buffer, call, facts)
    rooted = "root" in call.args and buffer != "buffer"
    at_root = (buffer == "recvbuf") != (call.procedure.name in ROOTED["sendbuf"])
    if message is None or message.type is None or (rooted and at_root):
        return None
    passed, kind = message.passed, message.type
    symbol = facts.scope.lookup(passed.name) if isinstance(passed, Ref) else None
    if not isinstance(passed, Ref) or symbol is None or kind.bytes is None:
        return None  # behind a component, there may be others
    ends = [call.args[name] for name in ("dest", "source") if name in call.args]
    if any(mpi_constant(end, facts.scope) == "mpi_proc_null" for end in ends):
        return None
    why = _fixed(message, passed, symbol, leaf, facts)
    why = why or _by_size(message, passed, symbol, leaf, facts)
    found = None if why is None else TooLong(why)
    if symbol.origin is Origin.DUMMY:
        found = _of_callers(message, passed, symbol, leaf, facts, sites)
    if found is None or ("root" in call.args and not is_rank(call.args["root"], leaf, facts)):
        return None  # of an intercommunicator, perhaps
    return found


def _fixed(
    message: Message, passed: Ref, symbol: Symbol, leaf: Leaf, facts: UnitFacts
) -> str | None:
    """Of a message and a variable whose sizes are numbers."""
    count = value_of(message.count, leaf, facts)
    room = None if count is None else _room(passed, symbol, leaf, facts)
    if count is None or room is None or message.type is None:
        return None
    why = _compared(count, message.type, room, symbol)
    if why is None or not _has_shape(passed.name, symbol, leaf, facts):
        return None
    return f"{why}, and {passed.spelled} has {room} from the first element that is passed"


def _compared(count: int, kind: PredefinedType, room: int, symbol: Symbol) -> str | None:
    """How long a message is that is longer than its room."""
    bytes_ = count * (kind.bytes or 0)
    if bytes_ <= room * (1 if _size_is_sure(symbol, kind) else 2):
        return None
    return f"{count} of {kind.name.upper()} are {bytes_} bytes"


def _by_size(
    message: Message, passed: Ref, symbol: Symbol, leaf: Leaf, facts: UnitFacts
) -> str | None:
    """Of a message and an allocatable or automatic array whose sizes are expressions."""
    kind, each = message.type, _own_bytes(symbol, facts)
    if kind is None or each is None or kind.bytes != each or not _size_is_sure(symbol, kind):
        return None
    if symbol.origin is not Origin.LOCAL or passed.args is not None:
        return None
    rough = _Rough(facts)
    elements = rough.elements(_dims(passed.name, symbol, facts))
    if elements is None or not _is_more(rough.of(message.count), elements):
        return None  # what the statements before it do takes long to find
    shape = shape_of(passed.name, facts.scope, facts.values, leaf)
    if shape is None or not shape.stated or None in shape.extent or symbol.equivalenced:
        return None
    if any(extent is None or extent.value is None for extent in shape.extent[:-1]):
        return None
    count, elements = facts.values.polynomial(message.count, leaf), shape.stride(shape.rank)
    if not _is_more(count, elements):
        return None
    return f"{count} of {kind.name.upper()} are {count - elements} more than {passed.spelled} has"


def _is_more(count: Poly, elements: Poly) -> bool:
    more = (count - elements).value
    return more is not None and more > 0


class _Rough:
    """Integer expressions as the text of a unit suggests their values, at any statement."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts

    def of(self, expr: Expr) -> Poly:
        """The value of an expression."""
        return poly(expr, self._part)

    def _part(self, part: Expr) -> Expr | None:
        if not isinstance(part, Ref) or part.args is not None:
            return None
        value = constant(part, self.facts.scope)
        if value is not None:
            return Lit("integer", str(value))
        given = self.facts.once(assigned).get(part.name, [])
        return given[0] if len(given) == 1 else None

    def elements(self, dims: tuple[Dim, ...]) -> Poly | None:
        """The number of elements of an array."""
        total = Poly.constant(1)
        for dim in dims:
            if dim.kind != "explicit" or dim.upper is None:
                return None
            total = total * (self.of(dim.upper) - self.of(dim.lower or _ONE) + Poly.constant(1))
        return total if dims else None


def _allocations(facts: UnitFacts) -> dict[str, list[tuple[Dim, ...]]]:
    """The bounds that the ALLOCATE statements of a unit give to each variable."""
    found: dict[str, list[tuple[Dim, ...]]] = {}
    for what in (leaf.action for node in facts.unit.body for leaf in leaves(node)):
        if isinstance(what, Allocation) and what.kind == "allocate":
            for item in what.objects:
                if isinstance(item, Ref):
                    dims = tuple(_dim(arg) for arg in item.args or ())
                    found.setdefault(item.name, []).append(dims)
    return found


def _dim(arg: Arg) -> Dim:
    match arg:
        case Section(lower=lower, upper=upper):
            return Dim("explicit", lower, upper)
        case Ref() | Component() | Op() | Lit():
            return Dim("explicit", None, arg)
    return Dim("deferred")


def _dims(name: str, symbol: Symbol, facts: UnitFacts) -> tuple[Dim, ...]:
    """The dimensions of an array as its declaration, or the one ALLOCATE of the unit, says."""
    if "allocatable" not in symbol.attrs:
        return symbol.dims or ()
    given = facts.once(_allocations).get(name, [])
    return given[0] if len(given) == 1 else ()


def _has_shape(name: str, symbol: Symbol, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether an array certainly has the constant shape of ``_dims`` at a statement."""
    if "allocatable" not in symbol.attrs:
        return True
    shape = shape_of(name, facts.scope, facts.values, leaf)
    if shape is None or not shape.stated:
        return False
    found = [None if extent is None else extent.value for extent in shape.extent]
    rough = [_Rough(facts).elements((dim,)) for dim in _dims(name, symbol, facts)]
    return None not in found and found == [None if one is None else one.value for one in rough]


def _own_bytes(symbol: Symbol, facts: UnitFacts) -> int | None:
    """The bytes of an element of a variable of an intrinsic type that is no text; None: not known,
    or there may be more of its storage behind it."""
    attrs = {"pointer", "external", "cray_pointer"} & symbol.attrs
    if attrs or symbol.equivalenced or symbol.common_block is not None or symbol.type is None:
        return None
    if symbol.type.base not in _BASES:
        return None
    return element_bytes(symbol, symbol.home or facts.scope)


def _room(passed: Ref, symbol: Symbol, leaf: Leaf, facts: UnitFacts) -> int | None:
    """The bytes of a variable from the first element that is passed; None: not known, or there may
    be more of its storage behind it."""
    if symbol.origin not in (Origin.LOCAL, Origin.MODULE):
        return None
    each = _own_bytes(symbol, facts)
    if each is None:
        return None
    if symbol.dims is None:
        return each if passed.args is None else None
    home = facts.scope if "allocatable" in symbol.attrs else symbol.home or facts.scope
    dims = _dims(passed.name, symbol, facts)
    total, place, stride = 1, 0, 1
    indexes: tuple[Arg | None, ...] = passed.args or (None,) * len(dims)
    if not dims or len(indexes) != len(dims):
        return None
    for dim, index in zip(dims, indexes, strict=True):
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
                known = value_of(start, leaf, facts)
            if start is not None and known is None:
                return None
            first = lower if known is None else known
        place += (first - lower) * stride
        total *= max(0, last - lower + 1)
        stride = total
    return max(0, total - place) * each


def _size_is_sure(symbol: Symbol, kind: PredefinedType) -> bool:
    """Whether no option of the compiler gives a variable more bytes and the message not: some
    double the default kinds of REAL and COMPLEX, but not MPI_REAL8, say."""
    assert symbol.type is not None
    default = symbol.type.kind is None
    if symbol.type.base in ("integer", "logical") or isinstance(symbol.type.kind, Lit):
        return True
    return default and kind.name == f"mpi_{symbol.type.base}"


def value_of(expr: Expr, leaf: Leaf, facts: UnitFacts) -> int | None:
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
            given = facts.once(assigned).get(part.name, [])
            if len(given) != 1 or part.name in within:
                return False
            if not _may_be_known(given[0], facts, within | {part.name}):
                return False
    return True


def assigned(facts: UnitFacts) -> dict[str, list[Expr]]:
    """What the statements of the unit assign to each scalar variable."""
    found: dict[str, list[Expr]] = {}
    for what in (leaf.action for node in facts.unit.body for leaf in leaves(node)):
        if isinstance(what, Assign) and isinstance(what.target, Ref) and what.target.args is None:
            found.setdefault(what.target.name, []).append(what.value)
    return found


def _of_callers(
    message: Message,
    passed: Ref,
    symbol: Symbol,
    leaf: Leaf,
    facts: UnitFacts,
    sites: CallSites,
) -> TooLong | None:
    """Of a message that has more elements than the dummy argument that is its buffer: behind that,
    there may be more of the array that a caller passes."""
    kind = message.type
    rough = _Rough(facts)
    elements = None if passed.args is not None else rough.elements(symbol.dims or ())
    if kind is None or elements is None or not _is_more(rough.of(message.count), elements):
        return None
    if {"pointer", "allocatable", "optional", "value"} & symbol.attrs:
        return None
    if not _is_always_executed(leaf, facts):
        return None
    callers = sites.callers(sites.of(facts.located))
    for site in () if isinstance(callers, str) else callers:
        found = _passed(message, kind, passed.name, site, leaf, facts)
        if found is not None:
            return found
    return None


def _passed(
    message: Message,
    kind: PredefinedType,
    dummy: str,
    site: CallSite,
    leaf: Leaf,
    facts: UnitFacts,
) -> TooLong | None:
    """Why a message is too long for what a call passes."""
    call, located = site.statement.leaf, site.context.scope.located
    outer = UnitFacts(located, facts.effects)
    actual = site.args.get(dummy)
    root = outer.scope.lookup(actual.name) if isinstance(actual, Ref) else None
    if not isinstance(actual, Ref) or root is None or call.span is None:
        return None
    room = _room(actual, root, call, outer)
    if room is None or not _has_shape(actual.name, root, call, outer):
        return None
    count = _count_of(message.count, site, leaf, facts, outer)
    why = None if count is None else _compared(count, kind, room, root)
    if why is None or outer.executed.never(call) or is_dead(call, outer):
        return None
    line, path = call.span.first, call.span.file
    where = f"line {line}" if path == facts.located.path else f"{path}:{line}"
    why = f"{why}, and {where} passes {actual.spelled}, which has {room} from its first element on"
    return TooLong(why, (Mark(call.span, "definition", f"passes {actual.spelled}"),))


def _count_of(
    count: Expr, site: CallSite, leaf: Leaf, facts: UnitFacts, outer: UnitFacts
) -> int | None:
    """The value of a count for the dummy arguments that a call passes; None: not known."""
    given: dict[str, int] = {}
    inside = facts.values.polynomial(count, leaf).expression()
    for part in walk(inside):
        if not isinstance(part, Ref) or part.args is not None:
            continue
        symbol, actual = facts.scope.lookup(part.name), site.args.get(part.name)
        if symbol is None or symbol.origin is not Origin.DUMMY or actual is None:
            continue
        value = value_of(actual, site.statement.leaf, outer)
        if value is None or symbol.dims is not None or facts.values.written_in_unit(part.name):
            return None
        given[part.name] = value

    def change(ref: Ref) -> Expr | None:
        value = given.get(ref.name) if ref.args is None else None
        return None if value is None else Op("()", (Lit("integer", str(value)),))

    try:
        return constants_in(mapped_expr(inside, change), facts.scope).value
    except NotMappedError:
        return None


def _is_always_executed(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether each execution of a procedure executes a statement."""
    point = facts.reaching.graph.action(leaf)
    dominance = facts.reaching.dominance
    return point is not None and dominance.post_dominators_with_stop.dominates(point, ENTRY)
