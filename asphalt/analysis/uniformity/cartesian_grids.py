"""Whether all ranks are in a Cartesian grid: MPI_Dims_create factorises their number into its
extents.

    call MPI_Comm_size(comm, np, ierr)
    dims = 0
    call MPI_Dims_create(np, 2, dims, ierr)
    call MPI_Cart_create(comm, 2, dims, periods, reorder, grid, ierr)

The product of the extents is then the number of ranks (MPI-4.0 section 8.5.2); in a smaller grid,
the remaining ranks get MPI_COMM_NULL (8.5.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import CallingContext
from asphalt.analysis.call_graph.definitions import VariableDefinition, is_user_function
from asphalt.analysis.call_graph.statement_conditions import ConditionedStatement
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.names.references import expressions_of
from asphalt.analysis.names.scopes import Origin, Symbol
from asphalt.ir.expr import (
    ArrayConstructor,
    Component,
    Expr,
    Lit,
    Ref,
    Unstructured,
    walk,
)
from asphalt.ir.stmt import Assign, Call, Guarded

_OTHER_NAMES = frozenset({"pointer", "target", "volatile"})


class NumberOfRanks(ABC):
    """The known communicators, and the variables that have their sizes."""

    @abstractmethod
    def group(self, communicator: Expr, context: CallingContext) -> object:
        """The ranks of a communicator; None: unknown."""

    @abstractmethod
    def definitions(
        self, symbol: Symbol, context: CallingContext
    ) -> tuple[tuple[CallingContext, VariableDefinition], ...] | None:
        """All definitions of a variable; None: unknown."""


def grid_has_all(
    statement: ConditionedStatement, context: CallingContext, group: object, number: NumberOfRanks
) -> bool:
    """Whether a statement creates a Cartesian grid of all ranks of a group."""
    call = _mpi(statement, context)
    dims = call.args.get("dims") if call is not None else None
    if call is None or call.procedure.name != "mpi_cart_create" or context.flow.has_gotos:
        return False
    if not isinstance(dims, Ref) or dims.args is not None:
        return False
    symbol = context.scope.lookup(dims.name)
    if symbol is None or symbol.equivalenced or symbol.attrs & _OTHER_NAMES:
        return False
    zeros, sized = _set_before(statement, dims.name, symbol, context)
    made = _mpi(sized, context) if sized is not None else None
    if zeros is None or sized is None or made is None or made.procedure.name != "mpi_dims_create":
        return False
    sizes = made.args.get("dims")
    if not isinstance(sizes, Ref) or (sizes.name, sizes.args) != (dims.name, None):
        return False
    if not _is_fixed(made.args.get("ndims"), context):
        return False
    if made.args.get("ndims") != call.args.get("ndims"):
        return False
    between = context.flow.statements[zeros.position + 1 : statement.position]
    quiet = not any(_may_call(one, context) for one in between)
    own = symbol.origin is Origin.LOCAL and not context.scope.unit.contained
    return (own or quiet) and _is_size(made.args.get("nnodes"), context, group, number)


def _set_before(
    statement: ConditionedStatement, name: str, symbol: Symbol, context: CallingContext
) -> tuple[ConditionedStatement | None, ConditionedStatement | None]:
    """The statement that sets all extents to zero, if nothing else defines them between it and a
    later statement of the same list."""
    before = [
        d.statement for d in context.defined.get(name) if d.statement.position < statement.position
    ]
    if len(before) < 2 or "*" in context.defined:
        return None, None
    zeros, sized = before[-2:]
    together = zeros.lists == sized.lists == statement.lists
    alone = not isinstance(zeros.leaf.what, Guarded) and not isinstance(sized.leaf.what, Guarded)
    ordered = zeros.position < sized.position
    if not (together and alone and ordered and _is_all_zero(zeros, name)):
        return None, None
    return zeros, sized


def _is_all_zero(statement: ConditionedStatement, name: str) -> bool:
    match statement.what:
        case Assign(target=Ref(name=given, args=None), value=Lit(text="0")) if given == name:
            return True
        case Assign(target=Ref(name=given, args=None), value=ArrayConstructor(values=values)):
            return given == name and all(isinstance(v, Lit) and v.text == "0" for v in values)
        case _:
            return False


def _is_fixed(expr: Expr | None, context: CallingContext) -> bool:
    if isinstance(expr, Lit):
        return True
    symbol = context.scope.lookup(expr.name) if isinstance(expr, Ref) else None
    return symbol is not None and symbol.origin is Origin.PARAMETER


def _is_size(
    expr: Expr | None, context: CallingContext, group: object, number: NumberOfRanks
) -> bool:
    """Whether an expression is a variable that, wherever it is defined, has the size of a group."""
    symbol = context.scope.lookup(expr.name) if isinstance(expr, Ref) and not expr.args else None
    if symbol is None or symbol.initial is not None or symbol.equivalenced:
        return False
    if symbol.attrs & (_OTHER_NAMES | {"data"}) or symbol.dims is not None:
        return False
    given = number.definitions(symbol, context)
    if given is None or len(given) != 1:
        return False
    ((unit, definition),) = given
    call = _mpi(definition.statement, unit)
    if call is None or call.procedure.name != "mpi_comm_size":
        return False
    communicator = call.args.get("comm")
    return communicator is not None and number.group(communicator, unit) == group


def _mpi(statement: ConditionedStatement, context: CallingContext) -> MpiCall | None:
    return mpi_call(statement.what, context.scope) if isinstance(statement.what, Call) else None


def _may_call(statement: ConditionedStatement, context: CallingContext) -> bool:
    """Whether a statement may execute a procedure of the program."""
    what = statement.what
    if not isinstance(what, Call | Assign):
        return True
    if isinstance(what, Call) and _mpi(statement, context) is None:
        return True
    return any(_is_call(part, context) for expr in _expressions(statement) for part in walk(expr))


def _expressions(statement: ConditionedStatement) -> Iterator[Expr]:
    for what in (statement.what, statement.leaf.what):
        yield from (part for part in expressions_of(what) if isinstance(part, Expr))


def _is_call(part: object, context: CallingContext) -> bool:
    if isinstance(part, Ref) and part.args is not None:
        return is_user_function(part, context.scope)
    return isinstance(part, Unstructured) or (isinstance(part, Component) and part.args is not None)
