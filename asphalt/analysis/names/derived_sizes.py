"""Named constants that a unit itself computes from others: ``plane = (nx + 1)*(ny + 1)``.

Sizes are often named constants of an include file or a module, and proofs hold for all of their
values (``Scopes.any_sizes``).  A constant that the unit computes from them has no known value
either, but it equals the expression that defines it.
"""

from __future__ import annotations

from asphalt.analysis.names.constants import constant, is_open
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.ir.expr import Expr, Lit, Op, Ref, names_in, walk


def in_given_sizes(value: Poly, scope: Scope) -> Poly:
    """A value with the constants that the unit computes replaced by their expressions."""
    if not any(is_open(atom, scope) for atom in value.atoms):
        return value
    return poly(value.expression(), lambda part: _computed(part, scope))


def _computed(part: Expr, scope: Scope) -> Expr | None:
    value = constant(part, scope)
    if value is not None:
        return Lit("integer", str(value))
    symbol = scope.lookup(part.name) if isinstance(part, Ref) and is_open(part, scope) else None
    if symbol is None or symbol.home is not scope or symbol.initial is None:
        return None
    where = symbol.initial_span or symbol.span
    included = where is None or where.file != scope.located.path
    return symbol.initial if not included and _is_computed(symbol.initial, scope) else None


def _is_computed(initial: Expr, scope: Scope) -> bool:
    """Whether an expression is integer arithmetic with named constants of the program."""
    if not names_in(initial):
        return False
    for part in walk(initial):
        match part:
            case Lit(kind="integer") | Op(op="+" | "-" | "*" | "()"):
                continue
            case Ref(args=None) if is_open(part, scope) or constant(part, scope) is not None:
                continue
        return False
    return True
