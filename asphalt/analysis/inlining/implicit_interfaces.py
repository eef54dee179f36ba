"""Whether compilers still accept a file after inlining.

Compilers compare the calls without an interface of a procedure within a file, and reject arguments
of different types (gfortran from version 10 on).  A body from another file may contain the first
call of MPI_SEND with another type.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.datatypes import mpi_constant
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.type_equality import TypeKey, expression_key, symbol_key
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Node, leaves


def check_implicit_interfaces(body: tuple[Node, ...], callee: Scope, caller: Scope) -> None:
    """Compare the buffers of calls without an interface with those in the caller's file.

    Raises:
        RefusedError: some are of other types, or it is not known.
    """
    if callee.located.path == caller.located.path:
        return  # they are compared as it is
    for call in _calls(body, callee):
        own = _buffers(call, callee)
        for unit in caller.program.mentions(call.operation):
            if unit.path != caller.located.path:
                continue
            if unit.is_unread:
                message = f"included text of this file may call {call.procedure.spelled}"
                raise RefusedError(MEANING, message)
            scope = caller.scopes.of(unit)
            for other in _calls(unit.unit.body, scope):
                if other.operation == call.operation and _buffers(other, scope) != own:
                    spelled = call.procedure.spelled
                    message = f"its calls of {spelled} pass other types than those in this file"
                    raise RefusedError(MEANING, message)


def _calls(body: tuple[Node, ...], scope: Scope) -> Iterator[MpiCall]:
    """The MPI calls without an interface."""
    for node in body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                call = mpi_call(what, scope) if isinstance(what, Call) else None
                if call is not None and call.binding == "mpif.h":
                    yield call


def _buffers(call: MpiCall, scope: Scope) -> tuple[object, ...]:
    """The types of the buffers, and whether they are arrays or parts of arrays."""
    return tuple(
        _kind(actual, scope) for parameter, actual in call.bound() if parameter.kind == "BUFFER"
    )


def _kind(actual: Expr, scope: Scope) -> tuple[TypeKey | None, bool, str | None]:
    symbol = scope.lookup(actual.name) if isinstance(actual, Ref) else None
    constant = mpi_constant(actual, scope)
    if symbol is not None and constant is None:
        return symbol_key(symbol, scope), symbol.dims is not None, None
    return expression_key(actual, scope), False, constant
