"""Integer expressions of error codes, as programs test them: ``abs(ierr) /= 0``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asphalt.analysis.effects.error_handlers import SUCCESS
from asphalt.analysis.mpi.call import mpi_constant
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Expr, Op, Ref

_ARITHMETIC = frozenset({"()", "+", "-", "*"})
_ABSOLUTE = frozenset({"abs", "iabs"})


def variables_of(expr: Expr, scope: Scope) -> Iterator[Ref]:
    """The variables that an expression is made of, as far as ``value_of`` looks into it."""
    parts = _parts(expr, scope)
    if parts is not None:
        for part in parts:
            yield from variables_of(part, scope)
    elif isinstance(expr, Ref):
        yield expr


def value_of(expr: Expr, scope: Scope, known: Callable[[Ref], int | None]) -> int | None:
    """The value of an expression; None: unknown.  ``known``: that of a variable."""
    if mpi_constant(expr, scope) == SUCCESS:
        return 0
    parts = _parts(expr, scope)
    if parts is None:
        given = known(expr) if isinstance(expr, Ref) else None
        return constant(expr, scope) if given is None else given
    values = [value for part in parts if (value := value_of(part, scope, known)) is not None]
    if len(values) < len(parts):
        return None
    match expr, values:
        case Ref(), (one,):
            return abs(one)
        case Op(op="-"), (one,):
            return -one
        case Op(op="-"), (one, other):
            return one - other
        case Op(op="+"), (one, other):
            return one + other
        case Op(op="*"), (one, other):
            return one * other
        case _, (one,):
            return one
    return None


def _parts(expr: Expr, scope: Scope) -> tuple[Expr, ...] | None:
    """The operands of an arithmetic operation, or the argument of a function that gives the
    absolute value; None: it is neither."""
    match expr:
        case Op(op=op, operands=operands) if op in _ARITHMETIC:
            return operands
        case Ref(name=name, args=(argument,)) if name in _ABSOLUTE:
            symbol = scope.lookup(name)
            intrinsic = symbol is not None and symbol.origin is Origin.INTRINSIC
            return (argument,) if intrinsic and isinstance(argument, Expr) else None
    return None
