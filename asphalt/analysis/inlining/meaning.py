"""Whether statements mean in the caller what they mean in the procedure, and are accepted there.

Operations: the interfaces that are accessible in a unit define its operations on derived types, its
defined operators, and its assignments between types (F2018 10.1.6, 10.2.1.4).

Calls without an interface: compilers compare those of one procedure within a file, and reject
arguments of different types (gfortran from version 10 on).  A body from another file may contain
the first call of MPI_SEND with another type.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.defined_operations import may_be_derived
from asphalt.analysis.call_graph.operators import definitions_visible, type_class
from asphalt.analysis.inlining.codes import MEANING, RefusedError
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.datatypes import mpi_constant
from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.type_equality import TypeKey, expression_key, symbol_key
from asphalt.ir.expr import Arg, Expr, Op, Ref, Unstructured, walk
from asphalt.ir.stmt import Assign, Call
from asphalt.ir.tree import Node, leaves

_INTRINSIC = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")


def check_operations(body: tuple[Node, ...], callee: Scope, caller: Scope) -> None:
    """Check the operators and the assignments of some statements of ``callee``.

    Raises:
        RefusedError: one of them may be a procedure, in one of the two units.
    """
    if not definitions_visible(callee) and not definitions_visible(caller):
        return
    for operation, operands in _operations(body):
        classes = {type_class(operand, callee) for operand in operands} - {None}
        own = operation.startswith(".") and operation not in _INTRINSIC
        derived = any(
            isinstance(operand, Unstructured)
            or (type_class(operand, callee) is None and may_be_derived(operand, callee))
            for operand in operands
        )
        if own or derived or len(classes) > 1:
            raise RefusedError(MEANING, f"{operation} may be a procedure in one of the two units")


def _operations(body: tuple[Node, ...]) -> Iterator[tuple[str, tuple[Arg, ...]]]:
    """All operations and assignments, each with its operands."""
    for node in body:
        for leaf in leaves(node):
            for what in actions(leaf.what):
                if isinstance(what, Assign) and not what.pointer:
                    yield "=", (what.target, what.value)
                for expr in expressions_of(what):
                    for part in walk(expr):
                        if isinstance(part, Op) and part.op != "()":
                            yield part.op, part.operands
                        elif isinstance(part, Unstructured):
                            yield part.text, (part,)


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
