"""Logical expressions with operands that are not known (Kleene 1952, section 64: strong tables)."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.ir.expr import Arg, Op


def truth(expr: Arg, of: Callable[[Arg], bool | None]) -> bool | None:
    """The value of a logical expression; None: unknown.

    ``of`` gives the values of operands that are no parenthesis, .NOT., .AND., .OR., .EQV. or .NEQV.
    """
    match expr:
        case Op(op="()", operands=(inner,)):
            return truth(inner, of)
        case Op(op=".not.", operands=(inner,)):
            value = truth(inner, of)
            return None if value is None else not value
        case Op(op=".and." | ".or." as op, operands=operands):
            decides = op == ".or."
            values = [truth(operand, of) for operand in operands]
            if decides in values:
                return decides
            return None if None in values else not decides
        case Op(op=".eqv." | ".neqv." as op, operands=(a, b)):
            one, other = truth(a, of), truth(b, of)
            if one is None or other is None:
                return None
            return (one is other) == (op == ".eqv.")
    return of(expr)
