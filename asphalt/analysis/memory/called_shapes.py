"""What a call does to the shape of an allocatable, or of a component of a structure that it gets.

    subroutine make(r, n)              ! call make(now, 120)
      type(region), intent(out) :: r   ! deallocates r%val
      allocate (r%val(0:n+1))          ! now%val has the bounds 0 and 121

An ALLOCATE in a called procedure gives the array its shape if each call executes it, or each call
with an array that is not allocated, and nothing else in the procedure can change the shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.component_definitions import (
    in_callee,
    is_part_of,
    whole_designator,
)
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.call_graph.operators import is_intrinsic_assignment
from asphalt.analysis.call_graph.reaching import is_hidden
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.call_graph.values_left import (
    ANY_NAME,
    Left,
    always_executed,
    at_return,
    carried,
    executed_once,
    in_components,
)
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.reallocation import NO_SHAPE, may_allocate
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.designators import (
    may_be_function,
    own_designator,
    symbol_named,
)
from asphalt.analysis.names.host_association import is_text_missing, named_inside
from asphalt.analysis.names.references import bind, expressions_of
from asphalt.analysis.names.scopes import Origin, Scope, Scopes
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    names_in,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import IO, Allocation, ArmHead, Assign, Call, Dim, Guarded, Opaque, Raw, What

_DEPTH = 8  # procedures that call each other


class Change(Enum):
    """What a statement does to the shape of an allocatable."""

    KEEPS = "keeps it"
    REMOVES = "may deallocate the array"
    UNKNOWN = "may give it another shape"


@record
class Allocated:
    """A statement allocates the array.  ``bounds``: lower and upper ones in turn; a lower bound
    that is not given is None.  ``may_fail``: not where it is allocated already.  ``own``: the same
    bounds, with components of the structure for what else has their values."""

    bounds: Left
    may_fail: bool
    own: Left | None = None


def dims_of(bounds: Left) -> tuple[Dim, ...]:
    """The dimensions with these bounds."""
    pairs = zip(bounds.exprs[::2], bounds.exprs[1::2], strict=True)
    return tuple(Dim("explicit", lower, upper) for lower, upper in pairs)


ShapeChange = Change | Allocated


def shape_change(call: Call, name: str, scope: Scope) -> ShapeChange:
    """What a call does to the shape of the allocatable of this designator, in terms of its
    caller."""
    inside = _of_references(call.args, name, scope, _DEPTH)
    return inside if inside is not Change.KEEPS else _called(call, name, scope, _DEPTH)


def changes_in(
    context: CallingContext, name: str, depth: int = _DEPTH
) -> Iterator[tuple[ConditionedStatement, ShapeChange]]:
    """The statements of a unit that may change the shape of an allocatable."""
    scope = context.scope
    for statement in context.flow.statements:
        found = _of_statement(statement.what, name, scope, depth)
        whole, exprs = statement.leaf.what, expressions_of(statement.what)
        if isinstance(whole, Guarded) and not is_hidden(statement):
            exprs = (*exprs, whole.condition)
        if _of_references(exprs, name, scope, depth) is not Change.KEEPS:
            found = Change.UNKNOWN
        if found is not Change.KEEPS:
            yield statement, found


def _of_statement(what: What, name: str, scope: Scope, depth: int) -> ShapeChange:
    root = name.split("%")[0]
    match what:
        case Raw():
            return Change.UNKNOWN
        case Opaque(names=names):
            return Change.UNKNOWN if root in names else Change.KEEPS
        case Allocation():
            return _of_allocation(what, name, scope)
        case Assign(target=target, value=value, pointer=pointer):
            if pointer or not isinstance(target, Ref | Component) or target.args is not None:
                return Change.KEEPS  # what has a shape of its own is no pointer
            whole = own_designator(target, scope)
            scalar = is_scalar(value, scope) and is_intrinsic_assignment(what, scope)
            if whole == name and scalar:
                return Change.KEEPS
            return Change.UNKNOWN if is_part_of(name, whole) else Change.KEEPS
        case Call():
            return _called(what, name, scope, depth)
        case IO(writes=writes):
            named = {whole_designator(item, scope) for item in writes} - {name}
            return Change.UNKNOWN if any(is_part_of(name, n) for n in named) else Change.KEEPS
        case ArmHead(exprs=exprs):
            given = {
                whole_designator(expr, scope) for expr in exprs if isinstance(expr, Keyword)
            } - {name}
            return Change.UNKNOWN if any(is_part_of(name, n) for n in given) else Change.KEEPS
    return Change.KEEPS


def _of_allocation(what: Allocation, name: str, scope: Scope) -> ShapeChange:
    found: ShapeChange = Change.KEEPS
    for item in what.objects:
        whole = own_designator(item, scope)
        if not is_part_of(name, whole):
            continue
        if what.kind == "deallocate":
            found = Change.REMOVES
        elif (
            what.kind != "allocate"
            or whole != name
            or found is not Change.KEEPS
            or not isinstance(item, Ref | Component)
            or item.args is None
        ):
            return Change.UNKNOWN
        else:
            bounds = _bounds(item.args)
            if bounds is None:
                return Change.UNKNOWN
            found = Allocated(Left(bounds), any(o.name == "stat" for o in what.options))
    return found


def _bounds(args: tuple[Arg, ...]) -> tuple[Expr | None, ...] | None:
    found: list[Expr | None] = []
    for arg in args:
        match arg:
            case Section(lower=lower, upper=upper) if upper is not None:
                found += (lower, upper)
            case Section() | Keyword() | AltReturn():
                return None
            case _:
                found += (None, arg)
    return tuple(found)


def _of_references(exprs: Iterable[Arg], name: str, scope: Scope, depth: int) -> Change:
    """What the functions in expressions do to a shape."""
    root = name.split("%")[0]
    for part in (part for expr in exprs for part in walk(expr)):
        match part:
            case OpaqueExpr(names=names) | ImpliedDo(names=names) if root in names:
                return Change.UNKNOWN
            case Component() if may_be_function(part, scope) and root in names_in(part):
                return Change.UNKNOWN
            case Ref(args=tuple() as args) if any(
                is_part_of(name, whole_designator(arg, scope)) for arg in args
            ):
                if name_kind(part.name, True, scope) in NO_SHAPE:
                    continue
                call = Call(Ref(part.name, part.spelled), args)
                if _called(call, name, scope, depth) is not Change.KEEPS:
                    return Change.UNKNOWN
    return Change.KEEPS


def _called(call: Call, name: str, scope: Scope, depth: int) -> ShapeChange:
    """What a called procedure does to a shape, in terms of the caller."""
    if mpi_call(call, scope) is not None:
        return Change.KEEPS
    found = invoked(call, scope) if depth else None
    args = call.args if found is None else found[1].args
    passed = {whole for arg in args if is_part_of(name, whole := whole_designator(arg, scope))}
    if found is None:
        procedure = call.procedure
        if not isinstance(procedure, Ref):
            bound = not passed and name.split("%")[0] not in names_in(procedure)
            return Change.KEEPS if bound else Change.UNKNOWN
        symbol = scope.lookup(procedure.name)
        own = symbol is not None and symbol.origin is Origin.INTRINSIC
        keeps = procedure.name != "move_alloc" if own else not may_allocate(procedure, scope)
        return Change.KEEPS if not passed or (passed == {name} and keeps) else Change.UNKNOWN
    if not passed:
        return Change.KEEPS
    callee = scope.scopes.once(CallSites).of(found[0])
    bound_args = bind(args, callee.dummies)
    inner = None if bound_args is None else in_callee(name, bound_args, scope)
    if bound_args is None or inner is None:
        return Change.UNKNOWN
    change = _change_in(callee, inner, depth - 1)
    if not isinstance(change, Allocated):
        return change
    bounds = carried(change.bounds.exprs, bound_args, callee.scope, scope)
    other = change.own
    inside = None if other is None else carried(other.exprs, bound_args, callee.scope, scope)
    if bounds is None:
        return Change.UNKNOWN if inside is None else Allocated(inside, change.may_fail)
    return Allocated(bounds, change.may_fail, inside)


def _change_in(callee: CallingContext, name: str, depth: int) -> ShapeChange:
    """What a procedure does to the shape of a dummy, or of a component of one: bounds have the
    values of its return."""
    known, key = callee.scope.scopes.once(_known), (callee.key, name)
    if key not in known:
        known[key] = Change.UNKNOWN  # of what calls itself
        known[key] = _found_in(callee, name, depth)
    return known[key]


def _known(scopes: Scopes) -> dict[tuple[UnitKey, str], ShapeChange]:
    """The answers for designators of procedures of a program."""
    return {}


def _found_in(callee: CallingContext, name: str, depth: int) -> ShapeChange:
    scope, root = callee.scope, name.split("%")[0]
    symbol, part = scope.lookup(root), symbol_named(name, scope)
    if symbol is None or part is None or symbol.origin is not Origin.DUMMY:
        return Change.UNKNOWN
    if symbol.attrs & ANY_NAME or part.attrs & ANY_NAME or callee.scope.located.is_unread:
        return Change.UNKNOWN
    if symbol.intent == "in" or "value" in symbol.attrs or "allocatable" not in part.attrs:
        return Change.KEEPS
    if named_inside(root, scope) or is_text_missing(scope) or "*" in callee.defined:
        return Change.UNKNOWN
    found = list(changes_in(callee, name, depth))
    made = [(s, change) for s, change in found if isinstance(change, Allocated)]
    removed = [s for s, change in found if change is Change.REMOVES]
    if len(made) + len(removed) != len(found):
        return Change.UNKNOWN
    if not made:
        return Change.REMOVES if removed or symbol.intent == "out" else Change.KEEPS
    (statement, change), *more = made
    if more or any(s.position >= statement.position for s in removed):
        return Change.UNKNOWN
    asked = _only_where_not_allocated(statement, callee, name)
    if not asked and not always_executed(statement, callee):
        return Change.UNKNOWN
    left = at_return(change.bounds, callee, statement)
    if left is None:
        return Change.UNKNOWN
    return Allocated(left, change.may_fail or asked, in_components(left, root, callee))


def _only_where_not_allocated(
    statement: ConditionedStatement, context: CallingContext, name: str
) -> bool:
    """Whether a statement is executed exactly where an array is not allocated."""
    conditions = context.flow.conditions(statement)
    if (
        len(conditions) != 1
        or len(conditions[0].exprs) != 1
        or not executed_once(statement, context)
    ):
        return False
    match conditions[0].exprs[0]:
        case Op(op=".not.", operands=(Ref(name="allocated", args=(asked,)),)):
            symbol = context.scope.lookup("allocated")
            own = symbol is not None and symbol.origin is Origin.INTRINSIC
            return own and whole_designator(asked, context.scope) == name
    return False
