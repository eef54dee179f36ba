"""Where a constant in place of a variable would be an error at compile time.

A compiler evaluates constant expressions: ``60/(k - 1)`` is an error with 1 for ``k``, even under a
condition that is never true.  So are arguments outside of the domain of an intrinsic function, and
elements that a named constant does not have.
"""

from __future__ import annotations

from asphalt.analysis.names.references import actions, expressions_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Expr, Op, Ref, Section, names_in, walk
from asphalt.ir.stmt import DoHead, What

_OF_ANY_NUMBER = frozenset({"abs", "cmplx", "dble", "int", "max", "merge", "min", "real"})


def is_constant(expr: Expr, scope: Scope) -> bool:
    """Whether an expression names nothing but constants and intrinsic functions."""
    return all(_is_known(name, scope) for name in names_in(expr))


def may_fail(what: What, variable: str, scope: Scope) -> bool:
    """Whether some constant in place of a scalar variable may be an error in a statement."""
    for one in actions(what):
        if isinstance(one, DoHead) and one.step is not None and variable in names_in(one.step):
            return True
        for expr in expressions_of(one):
            if any(_fails(part, variable, scope) for part in walk(expr)):
                return True
    return False


def _fails(part: Arg, variable: str, scope: Scope) -> bool:
    match part:
        case Op(op="/", operands=(_, divisor)):
            return _becomes_constant(divisor, variable, scope)
        case Op(op="**"):
            return _becomes_constant(part, variable, scope)
        case Ref(name=name, args=args) if args is not None:
            if name in _OF_ANY_NUMBER or not _is_known(name, scope):
                return False
            return any(_becomes_constant(arg, variable, scope) for arg in args)
        case Section():
            return variable in names_in(part)
    return False


def _becomes_constant(expr: Arg, variable: str, scope: Scope) -> bool:
    names = names_in(expr)
    return variable in names and all(_is_known(n, scope) for n in names - {variable})


def _is_known(name: str, scope: Scope) -> bool:
    symbol = scope.lookup(name)
    if symbol is None:
        return True
    return symbol.origin is Origin.INTRINSIC or "parameter" in symbol.attrs
