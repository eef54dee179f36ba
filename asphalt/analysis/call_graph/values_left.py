"""What a call leaves behind: values of components of structures, in terms of its caller.

    subroutine make(r, n)              ! call make(now, 120)
      type(region), intent(inout) :: r
      r%n = n                          ! now%n is 120
      allocate (r%val(0:n+1))          ! the bounds are 0 and 121

An expression of the procedure has a value in the caller if it is made of constants, and of dummies
and their components that nothing in the procedure defines later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites
from asphalt.analysis.call_graph.component_definitions import (
    component_definitions,
    in_callee,
    whole_designator,
)
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.call_graph.operators import is_intrinsic_assignment
from asphalt.analysis.call_graph.reaching import is_hidden
from asphalt.analysis.call_graph.settled_bounds import stays_from
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.derived_types import may_be_allocatable, may_be_pointer
from asphalt.analysis.names.designators import (
    designator,
    designator_name,
    own_designator,
    symbol_named,
)
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Origin, Scope, constant
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Lit,
    Op,
    Ref,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call

_DEPTH = 8  # procedures that call each other
_ARITHMETIC = ("+", "-", "*", "/", "()")
_FUNCTIONS = frozenset({"abs", "max", "min", "mod", "modulo"})
ANY_NAME = frozenset({"pointer", "target", "volatile"})
"""The attributes of what may change by another name."""


@record
class Left:
    """Expressions of a unit with the values that a statement of it leaves behind.

    ``passed``: the designators in them that the statement may define itself.
    """

    exprs: tuple[Expr | None, ...]
    passed: frozenset[str] = frozenset()

    def fixed(self, scope: Scope) -> frozenset[str]:
        """The designators of variables in them that the statement must not define."""
        return frozenset(_variables(self.exprs, scope)) - self.passed


def value_left(call: Call, name: str, scope: Scope) -> Left | None:
    """The value that a call certainly gives to an integer component, in terms of the caller."""
    return _value_left(call, name, scope, _DEPTH)


def always_executed(statement: ConditionedStatement, context: CallingContext) -> bool:
    """Whether each call of a unit that returns executes a statement, and once."""
    return not context.flow.conditions(statement) and executed_once(statement, context)


def executed_once(statement: ConditionedStatement, context: CallingContext) -> bool:
    return not (
        statement.loops
        or statement.threaded
        or is_hidden(statement)
        or context.flow.may_come_back_to(statement)
    )


def at_return(left: Left, context: CallingContext, statement: ConditionedStatement) -> Left | None:
    """Values that a statement leaves behind, as those that the unit does."""
    exprs = tuple(
        None if expr is None else _kept(expr, context, statement, left.passed)
        for expr in left.exprs
    )
    lost = any(old is not None and new is None for old, new in zip(left.exprs, exprs, strict=True))
    return None if lost else Left(exprs)


def _kept(
    expr: Expr, context: CallingContext, since: ConditionedStatement, passed: frozenset[str]
) -> Expr | None:
    """An expression with the value that it has behind a statement, in terms of what the unit leaves
    behind; None: it may change."""
    return _rebuilt(expr, lambda part: _kept_object(part, context, since, passed))


def _rebuilt(expr: Arg, of: Callable[[Ref | Component], Expr | None]) -> Expr | None:
    """An integer expression with other objects in it; None: one has none."""
    match expr:
        case Lit(kind="integer"):
            return expr
        case Op(op=op, operands=operands) if op in _ARITHMETIC:
            parts = tuple(p for o in operands if (p := _rebuilt(o, of)) is not None)
            return Op(op, parts) if len(parts) == len(operands) else None
        case Ref(name=function, args=tuple() as args) if function in _FUNCTIONS:
            found = of(expr)  # an array of that name, maybe
            parts = tuple(p for arg in args if (p := _rebuilt(arg, of)) is not None)
            return replace(expr, args=parts) if found and len(parts) == len(args) else None
        case Ref() | Component():
            return of(expr)
    return None


def _kept_object(
    part: Ref | Component,
    context: CallingContext,
    since: ConditionedStatement,
    passed: frozenset[str],
) -> Expr | None:
    scope, name = context.scope, designator_name(part)
    value = constant(part, scope)
    if value is not None:
        return Lit("integer", str(value))
    symbol = None if name is None else symbol_named(name, scope)
    if name is None or symbol is None:
        return None
    if isinstance(part, Ref) and part.args is not None:
        return part if symbol.origin is Origin.INTRINSIC else None
    if part.args is not None or symbol.dims is not None:
        return None
    if symbol.origin is Origin.PARAMETER and "%" not in name:
        return part
    if symbol.type is None or symbol.type.base != "integer" or not has_one_place(name, scope):
        return None
    root, *path = name.split("%")
    if symbol.origin is Origin.MODULE and "%" not in name:
        return part if stays_from(symbol, since.leaf, scope) else None
    if symbol.origin is Origin.DUMMY:
        itself = name in passed
        for one in component_definitions(context, root, tuple(path)):
            at = one.statement.position
            if one.lasting or at > since.position or (at == since.position and not itself):
                return None
        return part if not named_inside(root, scope) else None
    return _substituted(name, context, since) if symbol.origin is Origin.LOCAL else None


def has_one_place(name: str, scope: Scope) -> bool:
    """Whether an object of this designator is always the same one, with no other name."""
    root, *path = name.split("%")
    symbol = scope.lookup(root)
    if symbol is None or symbol.attrs & (ANY_NAME | {"allocatable"}) or symbol.equivalenced:
        return False
    way = tuple(path)
    return not way or not (may_be_allocatable(symbol, way) or may_be_pointer(symbol, way))


def _substituted(name: str, context: CallingContext, since: ConditionedStatement) -> Expr | None:
    """The value of a local variable that one assignment defines."""
    symbol, found = context.scope.lookup(name), context.defined.get(name)
    if symbol is None or symbol.initial is not None or symbol.attrs & {"save", "data"}:
        return None
    if len(found) != 1 or named_inside(name, context.scope):
        return None
    statement, what = found[0].statement, found[0].statement.what
    if not isinstance(what, Assign) or not found[0].whole or found[0].lasting:
        return None
    if statement.position >= since.position or not always_executed(statement, context):
        return None
    return _kept(what.value, context, statement, frozenset())


def _value_left(call: Call, name: str, scope: Scope, depth: int) -> Left | None:
    found = invoked(call, scope) if depth else None
    if found is None or mpi_call(call, scope) is not None:
        return None
    callee = scope.scopes.once(CallSites).of(found[0])
    args = bind(found[1].args, callee.dummies)
    inner = None if args is None else in_callee(name, args, scope)
    if args is None or inner is None or named_inside(inner.split("%")[0], callee.scope):
        return None
    left = _value_at_return(callee, inner, depth - 1)
    return None if left is None else carried(left.exprs, args, callee.scope, scope)


def _value_at_return(callee: CallingContext, name: str, depth: int) -> Left | None:
    """The value that a procedure leaves in a component of a dummy, in terms of what it leaves
    behind."""
    root, *path = name.split("%")
    symbol = callee.scope.lookup(root)
    if symbol is None or symbol.origin is not Origin.DUMMY or not has_one_place(name, callee.scope):
        return None
    if "*" in callee.defined or callee.scope.located.is_unread:
        return None
    found = component_definitions(callee, root, tuple(path))
    if len(found) != 1 or found[0].lasting or not always_executed(found[0].statement, callee):
        return None
    statement, what = found[0].statement, found[0].statement.what
    match what:
        case Assign(target=target, value=value, pointer=False):
            if own_designator(target, callee.scope) != name or not is_intrinsic_assignment(
                what, callee.scope
            ):
                return None
            return at_return(Left((value,)), callee, statement)
        case Call():
            left = _value_left(what, name, callee.scope, depth)
            return None if left is None else at_return(left, callee, statement)
    return None


def in_components(left: Left, root: str, callee: CallingContext) -> Left | None:
    """Values that a procedure leaves behind, with components of a dummy for the other dummies
    whose values it gives to them; None: it gives none of these to any."""
    given: dict[str, Expr] = {}
    for one in callee.defined.get(root):
        name = "%".join((root, *one.path))
        value = _value_at_return(callee, name, _DEPTH) if one.path else None
        match value:
            case Left(exprs=(Ref(name=dummy, args=None),)):
                given.setdefault(dummy, designator(name))

    def of(part: Ref | Component) -> Expr:
        return given.get(part.name, part) if isinstance(part, Ref) else part

    found = tuple(None if expr is None else _rebuilt(expr, of) for expr in left.exprs)
    return Left(found) if found != left.exprs else None


def carried(
    exprs: tuple[Expr | None, ...], args: dict[str, Expr], callee: Scope, caller: Scope
) -> Left | None:
    """Values that a procedure leaves behind, in terms of its caller."""
    passed: set[str] = set()
    fixed: set[str] = set()

    def of(part: Ref | Component) -> Expr | None:
        name = designator_name(part)
        symbol = None if name is None else symbol_named(name, callee)
        if name is None or symbol is None:
            return None
        root, *path = name.split("%")
        if symbol.origin is not Origin.DUMMY:
            return part if _is_the_same(root, callee, caller) else None
        actual = args.get(root)
        if actual is None:
            return None
        whole, own = whole_designator(actual, caller), callee.lookup(root)
        if whole is not None and own is not None and "value" not in own.attrs:
            found = designator("%".join((whole, *path)))
            if not _is_integer_scalar(found, caller):
                return None
            if _variables((found,), caller):
                passed.add("%".join((whole, *path)))
            return found
        if path or own is None or "value" in own.attrs:
            return None
        found_value = _rebuilt(actual, lambda p: p if _is_integer_scalar(p, caller) else None)
        if found_value is not None:
            fixed.update(_variables((found_value,), caller))
        return found_value

    found = tuple(None if expr is None else _rebuilt(expr, of) for expr in exprs)
    if any(old is not None and new is None for old, new in zip(exprs, found, strict=True)):
        return None
    return Left(found, frozenset(passed - fixed))


def _is_the_same(name: str, callee: Scope, caller: Scope) -> bool:
    """Whether a name means one intrinsic function, named constant or module variable in two
    units."""
    one, other = callee.lookup(name), caller.lookup(name)
    if one is None or other is None or one.origin is not other.origin:
        return False
    if one.origin is Origin.INTRINSIC:
        return True
    return one.origin in (Origin.MODULE, Origin.PARAMETER) and one.identity == other.identity


def _is_integer_scalar(part: Ref | Component, scope: Scope) -> bool:
    """Whether a part of an expression is an integer variable or constant, or an intrinsic
    function."""
    name = designator_name(part)
    symbol = None if name is None else symbol_named(name, scope)
    if symbol is None or name is None:
        return False
    if isinstance(part, Ref) and part.args is not None and symbol.origin is Origin.INTRINSIC:
        return name in _FUNCTIONS
    if part.args is not None or symbol.dims is not None:
        return False
    return symbol.type is not None and symbol.type.base == "integer"


def _variables(exprs: Iterable[Expr | None], scope: Scope) -> Iterator[str]:
    """The designators in expressions that are neither constants nor functions."""
    for expr in exprs:
        for part in () if expr is None else _objects(expr):
            name = designator_name(part)
            root = scope.lookup((name or "").split("%")[0])
            if name is not None and (root is None or root.origin.is_variable):
                yield name


def _objects(expr: Arg) -> Iterator[Ref | Component]:
    """The largest references in an expression."""
    match expr:
        case Component():
            yield expr
        case Ref(args=args):
            yield expr
            for arg in args or ():
                yield from _objects(arg)
        case Op(operands=operands):
            for operand in operands:
                yield from _objects(operand)
