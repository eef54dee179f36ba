"""The definitions of the variables of a unit: every statement that may define one, and its sources.

An array counts as one variable.  The definition of an element depends on its subscripts, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from asphalt.analysis.call_graph.defined_operations import may_be_subroutine
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.mpi.call import MpiCall, mpi_call, predefined_type
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing, table
from asphalt.analysis.mpi.standard.row import FREES_COMMUNICATOR
from asphalt.analysis.names.constants import constant, type_bytes
from asphalt.analysis.names.derived_types import (
    component_type,
    is_derived_type,
    without_parents,
)
from asphalt.analysis.names.designators import symbol_named
from asphalt.analysis.names.generic_names import named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.names.type_equality import TypeKey, symbol_key
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    OpaqueExpr,
    Ref,
    Section,
    Unstructured,
    argument_value,
    children,
    listed_names,
    walk,
)
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Opaque,
    Raw,
)

MAX_PATH = 3  # components of components of components; deeper ones are taken together


class Source(Enum):
    """Where a defined value comes from."""

    EXPRESSIONS = "expressions"  # computed from ``exprs``
    SHARED = "shared"  # an MPI operation gives all ranks of ``communicator`` the same
    DIFFERENT = "different"  # an MPI operation gives each rank its own
    CALLEE = "callee"  # what ``dummy`` of ``callee`` is when it returns
    UNKNOWN = "unknown"


@record
class VariableDefinition:
    """A statement that may define a variable.

    ``whole``: it is a scalar, and certainly defined when the statement is executed.  ``broadcast``:
    by MPI_BCAST.  ``old_communicator``: it is a communicator with the same group as that one;
    ``parent_communicator``: with some ranks of that one.  ``freed``: the handle is freed.
    ``path``: the component of ``name`` that is defined.  ``lasting``: MPI keeps its address and may
    define it at any later time.  ``call``: the user's procedure that may define it; ``scalar``: the
    type of the scalar variable or component that it is passed as a whole.
    """

    name: str
    statement: ConditionedStatement
    source: Source
    exprs: tuple[Arg, ...] = ()
    whole: bool = False
    broadcast: bool = False
    communicator: Expr | None = None
    callee: Located | None = None
    dummy: str = ""
    detail: str = ""
    old_communicator: Expr | None = None
    parent_communicator: Expr | None = None
    freed: bool = False
    path: tuple[str, ...] = ()
    lasting: bool = False
    call: Call | None = None
    scalar: TypeKey | None = None


def definitions_of(statement: ConditionedStatement, scope: Scope) -> Iterator[VariableDefinition]:
    """The definitions by one statement.  All names in them are names in it."""
    what = statement.what
    if isinstance(statement.leaf.what, Guarded):
        yield from _calls_in((statement.leaf.what.condition,), statement, scope)
    match what:
        case Assign(target=target, value=value, pointer=pointer):
            defined = may_be_subroutine(what, scope)
            source = Source.UNKNOWN if pointer or defined else Source.EXPRESSIONS
            detail = "a defined assignment" if defined else "a pointer assignment"
            whole = not defined
            yield from _target(target, statement, scope, source, (value,), detail, whole=whole)
            yield from _calls_in((target, value), statement, scope)
        case DoHead(kind="count", var=var, first=first, last=last, step=step) if var is not None:
            bounds = tuple(part for part in (first, last, step) if part is not None)
            yield from _target(var, statement, scope, Source.EXPRESSIONS, bounds, "", whole=False)
            yield from _calls_in(bounds, statement, scope)
        case DoHead(condition=condition) if condition is not None:
            yield from _everything(condition, statement, "a DO CONCURRENT or WHILE")
            yield from _calls_in((condition,), statement, scope)
        case Call():
            yield from _call(what, statement, scope)
        case IO(reads=reads, writes=writes):
            for item in writes:
                yield from _target(item, statement, scope, Source.UNKNOWN, (), "input or output")
            yield from _calls_in(reads, statement, scope)
        case ArmHead(kind="associate" | "select_type" | "select_rank", exprs=exprs):
            # What it binds is a second name: whatever is done to that one is done to the variable.
            for selector in exprs:
                detail = "an association with another name"
                yield from _target(
                    selector, statement, scope, Source.UNKNOWN, (), detail, whole=False
                )
            yield from _calls_in(exprs, statement, scope)
        case Allocation(objects=objects, options=options):
            for option in options:
                if option.name == "source":
                    for item in objects:
                        yield from _target(
                            item,
                            statement,
                            scope,
                            Source.EXPRESSIONS,
                            (option.value,),
                            "",
                            whole=False,
                        )
                yield from _target(
                    option.value, statement, scope, Source.UNKNOWN, (), "an allocation"
                )
            shapes = (arg for item in objects for arg in children(item))
            yield from _calls_in((*shapes, *options), statement, scope)
        case Opaque(names=names):
            for name in sorted(names):
                yield VariableDefinition(
                    name, statement, Source.UNKNOWN, detail="a statement that is not understood"
                )
        case Raw():
            yield VariableDefinition(
                "*", statement, Source.UNKNOWN, detail="an uninterpreted statement"
            )
        case _:
            yield from _calls_in(getattr(what, "exprs", ()), statement, scope)


def _target(
    target: Arg,
    statement: ConditionedStatement,
    scope: Scope,
    source: Source,
    exprs: tuple[Arg, ...],
    detail: str,
    whole: bool = True,
) -> Iterator[VariableDefinition]:
    match target:
        case Ref(name=name, args=None):
            yield VariableDefinition(name, statement, source, exprs, whole=whole, detail=detail)
        case Ref(name=name, args=args) if args is not None:
            yield VariableDefinition(name, statement, source, (*exprs, *args), detail=detail)
        case Component():
            part = component(target, scope)
            if part is not None:
                exprs = (*exprs, *part.subscripts)
                yield VariableDefinition(
                    part.root, statement, source, exprs, whole and part.whole,
                    detail=detail, path=part.path,
                )  # fmt: skip
        case Keyword(value=value):
            yield from _target(value, statement, scope, source, exprs, detail, whole)
        case OpaqueExpr():
            yield from _everything(target, statement, detail)
        case _:
            pass


def _everything(
    expr: Expr, statement: ConditionedStatement, detail: str
) -> Iterator[VariableDefinition]:
    for part in walk(expr):
        if isinstance(part, Unstructured):
            for name in sorted(part.names):
                yield VariableDefinition(name, statement, Source.UNKNOWN, detail=detail)


@record
class Designator:
    """``root%path``, with all subscripts on the way.

    ``part_of``: it is that of an object of which only a part is meant, such as a parent component.
    """

    root: str
    path: tuple[str, ...]
    subscripts: tuple[Arg, ...]
    part_of: bool = False

    @property
    def whole(self) -> bool:
        """Whether all of the object is meant."""
        return not self.subscripts and not self.part_of


def component(expr: Expr, scope: Scope) -> Designator | None:
    """A variable or a component taken apart, without parent components on the way; None: its base
    is not a variable."""
    path: list[str] = []
    subscripts: list[Arg] = []
    while isinstance(expr, Component):
        path.insert(0, expr.name)
        subscripts += expr.args or ()
        expr = expr.base
    if not isinstance(expr, Ref):
        return None
    subscripts += expr.args or ()
    symbol = scope.lookup(expr.name)
    own = tuple(path) if symbol is None else without_parents(symbol, tuple(path))
    return Designator(expr.name, own[:MAX_PATH], tuple(subscripts), len(own) < len(path))


def _calls_in(
    exprs: Iterable[Arg], statement: ConditionedStatement, scope: Scope
) -> Iterator[VariableDefinition]:
    """Functions may define their arguments."""
    for expr in exprs:
        for part in walk(expr):
            if isinstance(part, Ref) and part.args and is_user_function(part, scope):
                yield from _procedure(
                    Call(Ref(part.name, part.spelled), part.args), statement, scope
                )
            elif isinstance(part, Component) and _may_be_bound(part, scope):
                bound = Component(part.base, part.name, part.spelled)
                yield from _procedure(Call(bound, part.args or ()), statement, scope)
            elif isinstance(part, Unstructured) and _may_call(part, scope):
                yield from _everything(part, statement, "an expression that is not understood")


def _may_call(expr: OpaqueExpr | ImpliedDo, scope: Scope) -> bool:
    """Whether what is not looked into may reference a function."""
    return any(is_user_function(Ref(name, name), scope) for name in listed_names(expr))


def _may_be_bound(expr: Component, scope: Scope) -> bool:
    """Whether a component with a list may be a reference to a type-bound function."""
    part = component(expr, scope) if expr.args is not None else None
    symbol = scope.lookup(part.root) if part is not None else None
    return part is not None and (symbol is None or component_type(symbol, part.path) is None)


def is_user_function(ref: Ref, scope: Scope) -> bool:
    """Whether a name with a list may be a reference to a function of the user."""
    symbol = scope.lookup(ref.name)
    if is_derived_type(ref.name, scope):
        return False  # a structure constructor
    if symbol is None:
        return True
    if symbol.origin in (Origin.INTRINSIC, Origin.MPI, Origin.PARAMETER):
        return False
    if symbol.origin is Origin.STATEMENT_FUNCTION or symbol.dims is not None:
        return False
    return symbol.type is None or symbol.type.base != "character"


def _call(
    call: Call, statement: ConditionedStatement, scope: Scope
) -> Iterator[VariableDefinition]:
    mpi = mpi_call(call, scope)
    if mpi is not None:
        yield from _mpi(mpi, statement, scope)
    else:
        yield from _procedure(call, statement, scope)
    yield from _calls_in(call.args, statement, scope)


def _mpi(
    mpi: MpiCall, statement: ConditionedStatement, scope: Scope
) -> Iterator[VariableDefinition]:
    procedure = _as_if_blocking(mpi)
    inputs = tuple(actual for p, actual in mpi.bound() if p.used and p.kind != "COMMUNICATOR")
    blocking = procedure.timing is Timing.BLOCKING
    moves_data = procedure.exchange is not None or (procedure.collective and blocking)
    for parameter, actual in mpi.bound():
        prepared = parameter.kind == "BUFFER" and procedure.timing is Timing.PERSISTENT
        lasting = parameter.written_later or prepared or parameter.name in _KEPT
        if not parameter.defined and not lasting:
            continue
        exprs: tuple[Arg, ...] = ()
        source = Source.UNKNOWN
        if parameter.name in procedure.same_on_all:
            source = Source.SHARED
        elif (parameter.kind == "BUFFER" and moves_data) or (
            procedure.varying and parameter.kind != "ERROR_CODE"
        ):
            source = Source.DIFFERENT
        elif procedure.functional and parameter.kind != "ERROR_CODE":
            source, exprs = Source.EXPRESSIONS, inputs
        for found in _target(actual, statement, scope, source, exprs, procedure.spelled):
            old, new = procedure.same_group or ("", "")
            parent, part = procedure.part_of_group or ("", "")
            name = "%".join((found.name, *found.path))
            whole = found.whole and not _is_array(name, scope)
            if parameter.kind == "BUFFER" and _fills_array(mpi, actual, scope):
                whole = True
            elif whole and parameter.kind == "BUFFER" and not _fills(mpi, name, scope):
                whole = False
                source = Source.UNKNOWN if source is Source.SHARED else source
            yield VariableDefinition(
                found.name, statement, source, found.exprs, whole,
                broadcast=procedure.broadcast,
                communicator=mpi.args.get("comm"), detail=procedure.spelled,
                path=found.path, lasting=lasting,
                old_communicator=mpi.args.get(old) if parameter.name == new else None,
                parent_communicator=mpi.args.get(parent) if parameter.name == part else None,
                freed=FREES_COMMUNICATOR in procedure.facts and parameter.kind == "COMMUNICATOR",
            )  # fmt: skip


def _as_if_blocking(mpi: MpiCall) -> MpiProcedure:
    """The procedure whose definitions a call has: where asphalt has started a blocking collective
    operation, no statement accesses the buffers before its wait, and what it brings is the same."""
    procedure = mpi.procedure
    if mpi.binding != "runtime" or not procedure.collective:
        return procedure
    return table().get(procedure.name.replace("mpi_i", "mpi_", 1), procedure)


# Dummies whose address the caller (MPI_GET_ADDRESS) or the library keeps.
_KEPT = frozenset({"location", "base"})
_FAMILIES = {"double_precision": "real", "double_complex": "complex"}


def _fills(mpi: MpiCall, name: str, scope: Scope, elements: int = 1) -> bool:
    """Whether a collective operation certainly defines all of a variable from its first element
    on."""
    count, datatype = ((mpi.args.get(one) or mpi.args.get(two)) for one, two in _TRANSFERRED)
    symbol = symbol_named(name, scope)
    if count is None or datatype is None or symbol is None or symbol.type is None:
        return False
    number, size = constant(count, scope), type_bytes(symbol.type, symbol.home or scope)
    moved = predefined_type(datatype, scope)
    if number is None or size is None or moved is None or moved.bytes is None or number < 1:
        return False
    base = symbol.type.base
    if moved.family != _FAMILIES.get(base, base):
        return False
    if base == "character":
        return number * moved.bytes >= size * elements
    return moved.bytes == size and number >= elements


def _fills_array(mpi: MpiCall, actual: Expr, scope: Scope) -> bool:
    """Whether a collective operation certainly defines all of an array of constant shape: its
    buffer is the whole array, or its first element."""
    symbol = scope.lookup(actual.name) if isinstance(actual, Ref) else None
    if not isinstance(actual, Ref) or symbol is None or not symbol.dims:
        return False
    home, elements = symbol.home or scope, 1
    firsts: list[int] = []
    for dim in symbol.dims:
        lower = 1 if dim.lower is None else constant(dim.lower, home)
        upper = constant(dim.upper, home)
        if dim.kind != "explicit" or lower is None or upper is None:
            return False
        firsts.append(lower)
        elements *= max(upper - lower + 1, 0)
    if actual.args is not None and [constant(arg, scope) for arg in actual.args] != firsts:
        return False
    return _fills(mpi, actual.name, scope, elements)


_TRANSFERRED = (("count", "recvcount"), ("datatype", "recvtype"))


def _is_array(name: str, scope: Scope) -> bool:
    symbol = symbol_named(name, scope)
    return symbol is None or symbol.is_array


def _procedure(
    call: Call, statement: ConditionedStatement, scope: Scope
) -> Iterator[VariableDefinition]:
    """A call of a user's procedure may define each actual argument that is a variable."""
    callee = named(call, scope)
    if isinstance(call.procedure, Component):
        detail = f"the call of {call.procedure.spelled}"
        yield from _target(
            call.procedure.base, statement, scope, Source.UNKNOWN, (), detail, whole=False
        )
    dummies = () if callee is None else scope.scopes.of(callee).dummies
    spelled = call.procedure.spelled if isinstance(call.procedure, Ref) else "a procedure"
    for position, arg in enumerate(call.args):
        actual = argument_value(arg)
        if isinstance(arg, AltReturn | Section) or not isinstance(actual, Ref | Component):
            continue
        dummy = arg.name if isinstance(arg, Keyword) else None
        if dummy is None and position < len(dummies):
            dummy = dummies[position]
        known = callee is not None and dummy in dummies
        for found in _target(actual, statement, scope, Source.UNKNOWN, (), ""):
            symbol = symbol_named("%".join((found.name, *found.path)), scope)
            scalar = found.whole and symbol is not None and not symbol.is_array
            yield VariableDefinition(
                found.name, statement, Source.CALLEE if known else Source.UNKNOWN, found.exprs,
                callee=callee if known else None, dummy=dummy or "", path=found.path,
                detail=f"the call of {spelled}", call=call,
                scalar=symbol_key(symbol, scope) if scalar and symbol is not None else None,
            )  # fmt: skip
