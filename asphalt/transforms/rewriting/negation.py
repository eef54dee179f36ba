"""The opposite of a condition, as a person writes it: ``ranks /= 1`` for ``.not. (ranks == 1)``."""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.type_equality import expression_key
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref

_EQUAL = {"==": "/=", "/=": "=="}
_ORDERED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NUMERIC = ("integer", "real", "complex")


def opposite(condition: Expr, scope: Scope) -> Expr:
    """A condition that holds where another one does not.

    A relation turns round only between numbers: a program may define its operators for types of its
    own, one of them and not the other.  One of order turns round between integers: neither it nor
    its opposite holds for a NaN.
    """
    match condition:
        case Op(op="()", operands=(inner,)):
            return opposite(inner, scope)
        case Op(op=".not.", operands=(inner,)) if _is_logical(inner, scope):
            return _without_parentheses(inner)
        case Op(op=op, operands=(left, right)) if op in _EQUAL or op in _ORDERED:
            bases = {_base(left, scope), _base(right, scope)}
            if op in _EQUAL and bases <= {*_NUMERIC}:
                return Op(_EQUAL[op], (left, right))
            if op in _ORDERED and bases == {"integer"}:
                return Op(_ORDERED[op], (left, right))
        case Ref() | Component() | Lit():
            return Op(".not.", (condition,))
    return Op(".not.", (Op("()", (condition,)),))


def _without_parentheses(condition: Expr) -> Expr:
    while isinstance(condition, Op) and condition.op == "()":
        (condition,) = condition.operands
    return condition


def _is_logical(condition: Expr, scope: Scope) -> bool:
    """Whether a condition is one of the language itself."""
    inner = _without_parentheses(condition)
    match inner:
        case Op(op=op, operands=(left, right)) if op in _EQUAL or op in _ORDERED:
            return {_base(left, scope), _base(right, scope)} <= {*_NUMERIC}
        case Op(op=".and." | ".or.", operands=operands):
            return all(_is_logical(one, scope) for one in operands)
        case Op(op=".not.", operands=(one,)):
            return _is_logical(one, scope)
    return _base(inner, scope) == "logical"


def _base(expr: Expr, scope: Scope) -> object:
    key = expression_key(expr, scope)
    return None if key is None else key[0]
