"""Communicators that are never MPI_COMM_NULL.

The duplicate of a communicator is one of the same group (MPI-4.0 section 7.4.2), and so is the part
of a grid that MPI_CART_SUB gives to each process (8.5.7); MPI_COMM_SPLIT gives MPI_COMM_NULL only
to processes whose colour is MPI_UNDEFINED.  A variable holds no other value if all its definitions
give such communicators, and it has no value before.
"""

from __future__ import annotations

from collections.abc import Collection

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites
from asphalt.analysis.call_graph.component_definitions import overlap
from asphalt.analysis.call_graph.definitions import Source, VariableDefinition, component
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.mpi.datatypes import mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.derived_types import component_declarations
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.ir.expr import Arg, Component, Expr, Op, Ref
from asphalt.ir.stmt import Call

_VALID = frozenset({"mpi_comm_world", "mpi_comm_self"})
_NULL = "mpi_comm_null"
_FOR_ALL = frozenset({"mpi_cart_sub"})
_COLOURED = {"mpi_comm_split": "color", "mpi_comm_split_type": "split_type"}
_ANY_VALUE = frozenset({"pointer", "target", "volatile", "data"})
_DEPTH = 8  # variables that are given on to each other


def compares_valid_one(
    expr: Op, context: CallingContext, sites: CallSites, valid: Collection[object] = ()
) -> bool:
    """Whether an expression compares MPI_COMM_NULL with a communicator that is never it.

    ``valid``: variables that are none on the ranks in question.
    """
    if expr.op not in ("==", "/=", ".eq.", ".ne.") or len(expr.operands) != 2:
        return False
    one, other = (_plain(operand) for operand in expr.operands)
    if one is None or other is None:
        return False
    if mpi_constant(one, context.scope) == _NULL:
        one, other = other, one
    if mpi_constant(other, context.scope) != _NULL:
        return False
    symbol = context.scope.lookup(one.name) if isinstance(one, Ref) and one.args is None else None
    known = symbol is not None and symbol.identity in valid
    return known or is_valid(one, context, sites)


def is_valid(expr: Expr, context: CallingContext, sites: CallSites, depth: int = _DEPTH) -> bool:
    """Whether an expression is never MPI_COMM_NULL."""
    plain = _plain(expr)
    known = None if plain is None else mpi_constant(plain, context.scope)
    if plain is None or known is not None:
        return known in _VALID
    part = component(plain, context.scope)
    symbol = None if part is None else context.scope.lookup(part.root)
    if part is None or part.subscripts or symbol is None or not depth:
        return False
    if symbol.origin is Origin.HOST:
        return False
    if symbol.dims is not None or not _begins_undefined(symbol, part.path):
        return False
    given = _definitions(symbol, part.root, context, sites)
    if given is None:
        return False
    if symbol.origin is Origin.DUMMY and symbol.intent != "out":
        callers = sites.callers(context)
        if isinstance(callers, str):
            return sites.is_never_called(context)
        for site in callers:
            actual = site.args.get(part.root)
            whole = None if actual is None else _extended(actual, part.path)
            if whole is None or not is_valid(whole, site.context, sites, depth - 1):
                return False
    concerned = [(c, d) for c, d in given if overlap(d.path, part.path)]
    return all(_gives_valid(c, d, part.path, sites, depth - 1) for c, d in concerned)


def _gives_valid(
    context: CallingContext,
    definition: VariableDefinition,
    path: tuple[str, ...],
    sites: CallSites,
    depth: int,
) -> bool:
    """Whether a statement gives a component no other value."""
    if definition.lasting or definition.freed or depth <= 0:
        return False
    rest = path[len(definition.path) :]
    if definition.source is Source.CALLEE and definition.callee is not None:
        inside = sites.of(definition.callee)
        if definition.exprs or any(
            "*" in unit.defined or (unit is not inside and definition.dummy in unit.defined)
            for unit in (inside, *sites.all_contained(inside))
        ):
            return False
        return all(
            _gives_valid(inside, one, rest, sites, depth - 1)
            for one in inside.defined.get(definition.dummy)
            if sites.changes(one) and overlap(one.path, rest)
        )
    if definition.source is Source.EXPRESSIONS and not _is_call(definition.statement):
        value = _extended(definition.exprs[0], rest) if len(definition.exprs) == 1 else None
        return value is not None and is_valid(value, context, sites, depth)
    return not rest and _creates_valid(context, definition)


def _is_call(statement: ConditionedStatement) -> bool:
    return isinstance(statement.what, Call)


def _creates_valid(context: CallingContext, definition: VariableDefinition) -> bool:
    """Whether a call of MPI creates a communicator for each process that calls."""
    what = definition.statement.what
    call = mpi_call(what, context.scope) if isinstance(what, Call) else None
    if call is None:
        return False
    if definition.old_communicator is not None:
        return True
    if definition.parent_communicator is None:
        return False
    name = call.procedure.name
    colour = call.args.get(_COLOURED.get(name, ""))
    if colour is None:
        return name in _FOR_ALL
    if (named := mpi_constant(colour, context.scope)) is not None:
        return name == "mpi_comm_split_type" and named != "mpi_undefined"
    number = constant(colour, context.scope)
    return number is not None and number >= 0


def _definitions(
    symbol: Symbol, name: str, context: CallingContext, sites: CallSites
) -> tuple[tuple[CallingContext, VariableDefinition], ...] | None:
    """All definitions of a variable of a unit; None: not known."""
    if symbol.origin in (Origin.MODULE, Origin.COMMON):
        found = sites.shared_definitions(symbol)
        return None if isinstance(found, str) else found
    if symbol.origin not in (Origin.LOCAL, Origin.DUMMY):
        return None
    return sites.own_definitions(name, context)


def _begins_undefined(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether a scalar variable or component has one name, and no initial value."""
    if symbol.equivalenced or symbol.attrs & _ANY_VALUE or symbol.initial is not None:
        return False
    declared = component_declarations(symbol, path)
    return declared is not None and all(
        one.dims is None
        and one.entity.initial is None
        and not {"pointer", "allocatable"} & set(one.decl.attrs)
        for one in declared
    )


def _plain(expr: Arg) -> Expr | None:
    """A handle without parentheses, and without the component that holds its number."""
    while True:
        match expr:
            case Op(op="()", operands=(inner,)):
                expr = inner
            case Component(name="mpi_val", base=base):
                expr = base
            case _:
                return expr if isinstance(expr, Expr) else None


def _extended(value: Arg, path: tuple[str, ...]) -> Expr | None:
    for name in path:
        if not isinstance(value, Ref | Component):
            return None
        value = Component(value, name, name)
    return value if isinstance(value, Expr) else None
