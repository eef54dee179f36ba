"""Expressions whose evaluation has no observable effect.

They call no procedure, raise no floating-point exception and convert no value: constants,
variables, and sums, differences and products of integers.
"""

from __future__ import annotations

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Arg, Lit, Op, Ref, Section
from asphalt.ir.stmt import Assign, DoHead, Guarded, What

_SUMS = ("+", "-", "*")
_COMPARED = ("==", "/=", "<", "<=", ">", ">=")
_LOGICAL = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")


def only_defines_its_variable(what: What, scope: Scope) -> bool:
    """Whether the only effect of an assignment, a loop's head or an assignment under a condition is
    to define its variable."""
    match what:
        case Assign(target=Ref(args=args) as target, value=value, pointer=False):
            indexed = all(_is_subscript(arg, scope) for arg in args or ())
            return indexed and _is_plain_value(value, target, scope)
        case DoHead(kind="count", first=first, last=last, step=step):
            return all(part is None or is_integer(part, scope) for part in (first, last, step))
        case Guarded(condition=condition, action=Assign() as action, kind="if"):
            return is_condition(condition, scope) and only_defines_its_variable(action, scope)
    return False


def is_integer(expr: Arg, scope: Scope) -> bool:
    """Whether all operands of an expression are integers, without division, power or function."""
    match expr:
        case Lit(kind=kind):
            return kind == "integer"
        case Ref(args=args) if _is_object(expr, scope):
            of_integers = _base(scope.lookup(expr.name)) == "integer"
            return of_integers and all(_is_subscript(arg, scope) for arg in args or ())
        case Op(op=op, operands=operands):
            return op in (*_SUMS, "()") and all(is_integer(part, scope) for part in operands)
    return False


def is_condition(expr: Arg, scope: Scope) -> bool:
    """Whether a condition compares integers, or consists of logical variables."""
    match expr:
        case Lit(kind=kind):
            return kind == "logical"
        case Ref(args=args) if _is_object(expr, scope):
            of_logicals = _base(scope.lookup(expr.name)) == "logical"
            return of_logicals and all(_is_subscript(arg, scope) for arg in args or ())
        case Op(op=op, operands=operands) if op in _COMPARED:
            return all(is_integer(part, scope) for part in operands)
        case Op(op=op, operands=operands) if op in (*_LOGICAL, "()"):
            return all(is_condition(part, scope) for part in operands)
    return False


def _is_plain_value(value: Arg, target: Ref, scope: Scope) -> bool:
    """Whether an assignment needs no conversion at run time: the value is a constant, which the
    compiler converts, or an object of the target's type."""
    mine = scope.lookup(target.name)
    if mine is None or mine.type is None or not _base(mine):
        return False
    match value:
        case Lit(kind=kind):
            return kind in ("integer", "real", "logical")
        case Op(op="-" | "()", operands=(Lit(kind=kind),)):
            return kind in ("integer", "real")
        case Ref(args=args) if _is_object(value, scope):
            theirs = scope.lookup(value.name)
            same = theirs is not None and theirs.type == mine.type
            if mine.type.kind is not None:  # the kind is read where each is declared
                same = same and theirs is not None and theirs.home is mine.home
            constant = theirs is not None and theirs.origin is Origin.PARAMETER
            plain = constant and _base(theirs) in ("integer", "real", "double_precision")
            numeric = _base(mine) not in ("logical", "complex", "double_complex")
            return (same or (plain and numeric and args is None)) and all(
                _is_subscript(arg, scope) for arg in args or ()
            )
    return _base(mine) == "integer" and _same_integers(value, mine, scope)


def _same_integers(value: Arg, mine: Symbol, scope: Scope) -> bool:
    """Whether a sum of integers has the type of the target: all of the default kind."""
    parts = [value]
    while parts:
        part = parts.pop()
        match part:
            case Ref():
                symbol = scope.lookup(part.name)
                if symbol is None or symbol.type is None or symbol.type.kind is not None:
                    return False
            case Op(operands=operands):
                parts += operands
            case Lit(text=text) if "_" in text:
                return False
    return mine.type is not None and mine.type.kind is None and is_integer(value, scope)


def _is_subscript(arg: Arg, scope: Scope) -> bool:
    if isinstance(arg, Section):
        ends = (arg.lower, arg.upper, arg.stride)
        return all(part is None or is_integer(part, scope) for part in ends)
    return is_integer(arg, scope)


def _is_object(ref: Ref, scope: Scope) -> bool:
    """Whether a reference is to a variable or a named constant, not to a function."""
    found = name_kind(ref.name, ref.args is not None, scope)
    symbol = scope.lookup(ref.name)
    known = symbol is not None and symbol.origin is not Origin.MPI
    return known and found in (NameKind.VARIABLE, NameKind.CONSTANT)


def _base(symbol: Symbol | None) -> str:
    """The intrinsic type of an object; '' for another one."""
    base = "" if symbol is None or symbol.type is None else symbol.type.base
    return "" if base in ("type", "class", "character") else base
