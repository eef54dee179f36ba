"""Whether what follows a label of the main program only ends it.

A rank that jumps there calls no collective operation any more but MPI_Barrier and MPI_Finalize: the
jump is like STOP for all others.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.call_graph.defined_operations import may_be_function
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Component, ImpliedDo, Op, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import IO, ArmHead, Call, Jump, JumpKind, Plain, What

_LAST_CALLS = frozenset({"mpi_abort", "mpi_barrier", "mpi_finalize"})


def only_ends(statements: Iterable[What], scope: Scope) -> bool:
    """Whether some statements of a unit, the last ones, only end the program."""
    return scope.unit.kind == "program" and all(_is_harmless(what, scope) for what in statements)


def _is_harmless(what: What, scope: Scope) -> bool:
    match what:
        case Plain(keyword=keyword):
            return keyword != "entry"
        case Jump(kind=kind):
            return kind in (JumpKind.STOP, JumpKind.ERROR_STOP)
        case IO(labels=labels, reads=reads, writes=writes):
            return not labels and not any(may_call(one, scope) for one in (*reads, *writes))
        case ArmHead(kind="if" | "else_if" | "else", exprs=exprs):
            return not any(may_call(expr, scope) for expr in exprs)
        case Call(args=args):
            call = mpi_call(what, scope)
            known = call is not None and call.procedure.name in _LAST_CALLS
            return known and not any(may_call(arg, scope) for arg in args)
        case _:
            return False


def may_call(expr: object, scope: Scope) -> bool:
    """Whether an expression may reference a function of the user."""
    for part in walk(expr):  # type: ignore[arg-type]
        match part:
            case OpaqueExpr() | ImpliedDo() | Component():
                return True
            case Op() if may_be_function(part, scope):
                return True
            case Ref(name=name, args=args) if args is not None:
                symbol = scope.lookup(name)
                if symbol is None or not (symbol.dims or symbol.origin is Origin.INTRINSIC):
                    return True
            case _:
                pass
    return False
