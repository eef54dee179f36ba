"""The rank of an expression, as far as declarations tell it (F2018 10.1.8)."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.names.derived_types import ComponentDeclaration
from asphalt.analysis.names.designators import declarations_on_the_way, way_to
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.names.type_equality import expression_key
from asphalt.ir.expr import Arg, ArrayConstructor, Component, Keyword, Lit, Op, Ref, Section

ELEMENTAL = frozenset(
    {"abs", "aimag", "ceiling", "cmplx", "cos", "dble", "dim", "exp", "floor", "int", "log", "max",
     "min", "mod", "modulo", "nint", "real", "sign", "sin", "sqrt", "tan"}
)  # fmt: skip
"""Intrinsic functions that are applied to each element of their arguments."""
_SCALAR = frozenset({"dot_product", "epsilon", "huge", "kind", "len", "size", "tiny"})
_REDUCTIONS = frozenset({"all", "any", "count", "maxval", "minval", "product", "sum"})
_RELATIONAL = ("==", "/=", "<", "<=", ">", ">=")
_NUMERIC = ("+", "-", "*", "/", "**", *_RELATIONAL)
_NUMBERS = frozenset({"integer", "real", "complex"})
_LOGICAL = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")


def rank_of(expr: Arg, scope: Scope) -> int | None:
    """The rank of an expression; None: not known.

    An operation of scalars and arrays has the rank of the arrays; operators may be defined for
    operands of derived types, and for arrays of different ranks.
    """
    match expr:
        case Lit():
            return 0
        case Keyword(value=value):
            return rank_of(value, scope)
        case Section() | ArrayConstructor():
            return 1
        case Op(op="()", operands=(inner,)):
            return rank_of(inner, scope)
        case Op(operands=operands) if _is_intrinsic(expr, scope):
            return _common(rank_of(operand, scope) for operand in operands)
        case Ref(args=None):
            return _rank_of_name(expr, scope)
        case Ref():
            return _rank_of_part(expr, scope)
        case Component():
            root, way = way_to(expr)
            declared = declarations_on_the_way(expr, scope)
            if declared is None:
                return None
            parts = map(_rank_of_component, declared, way, (scope for _ in way))
            return _common((rank_of(root, scope), *parts))
    return None


def _is_intrinsic(operation: Op, scope: Scope) -> bool:
    """Whether the types of the operands are those of the intrinsic operation (F2018 10.1.5): a
    program may define it for others, with a result of any rank."""
    if operation.op in _NUMERIC:
        classes = _NUMBERS
    elif operation.op in _LOGICAL:
        classes = frozenset({"logical"})
    else:
        return False
    return all(_type_of(operand, scope) in classes for operand in operation.operands)


def _type_of(expr: Arg, scope: Scope) -> object:
    """The intrinsic type of an expression, of whatever kind; of a numeric operation, that of one
    operand; None: not known."""
    match expr:
        case Lit(kind="integer" | "real" | "logical" as base):
            return base
        case Op(op="()", operands=(inner,)):
            return _type_of(inner, scope)
        case Op(op=op, operands=(first, *_)) if _is_intrinsic(expr, scope):
            compares = op in _LOGICAL or op in _RELATIONAL
            return "logical" if compares else _type_of(first, scope)
    key = expression_key(expr, scope)
    return None if key is None else key[0]


def result_of(reference: Ref, scope: Scope) -> tuple[Symbol, Scope] | None:
    """The result variable of a function of the tree, with its scope; None: it is none."""
    located = procedure_named(Ref(reference.name, reference.spelled), scope)
    inner = None if located is None else scope.scopes.of(located)
    if located is None or inner is None or inner.head is None:
        return None
    symbol = inner.lookup(inner.head.result or located.unit.name)
    return None if symbol is None or "elemental" in inner.head.prefix else (symbol, inner)


def _rank_of_name(ref: Ref, scope: Scope) -> int | None:
    symbol = scope.lookup(ref.name)
    if symbol is None or symbol.attrs & {"procedure", "external"} or ref.name in scope.shadowed:
        return None
    if symbol.origin is Origin.MPI:
        return None if expression_key(ref, scope) is None else 0  # some constants are arrays
    if not (symbol.origin.is_variable or symbol.origin is Origin.PARAMETER):
        return None
    return _declared(symbol)


def _declared(symbol: Symbol) -> int | None:
    dims = symbol.dims or ()
    return None if any(dim.kind == "assumed_rank" for dim in dims) else len(dims)


def _rank_of_part(ref: Ref, scope: Scope) -> int | None:
    """Of an element, a section, or the result of a function."""
    symbol = scope.lookup(ref.name)
    args = ref.args or ()
    if symbol is None or ref.name in scope.shadowed:
        return None
    if symbol.dims is not None:
        return _sum(rank_of(arg, scope) for arg in args)
    if symbol.origin is Origin.INTRINSIC:
        if ref.name in _SCALAR or (ref.name in _REDUCTIONS and len(args) == 1):
            return 0
        return _common(rank_of(a, scope) for a in args) if ref.name in ELEMENTAL else None
    found = result_of(ref, scope)
    return None if found is None else _declared(found[0])


def _rank_of_component(one: ComponentDeclaration, part: Component, scope: Scope) -> int | None:
    if part.args is None:
        return len(one.dims or ())
    return None if one.dims is None else _sum(rank_of(arg, scope) for arg in part.args)


def _sum(ranks: Iterable[int | None]) -> int | None:
    found = list(ranks)
    return None if None in found else sum(rank for rank in found if rank is not None)


def _common(ranks: Iterable[int | None]) -> int | None:
    """The rank of what is combined of scalars and arrays of one rank."""
    found = set(ranks)
    if None in found:
        return None
    arrays = [rank for rank in found if rank]
    return None if len(arrays) > 1 else (arrays[0] if arrays else 0)
