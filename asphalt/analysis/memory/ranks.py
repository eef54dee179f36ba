"""Whether expressions have rank 0."""

from __future__ import annotations

from asphalt.analysis.call_graph.operators import is_intrinsic_operation
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.designators import declarations_on_the_way, way_to
from asphalt.analysis.names.expression_ranks import ELEMENTAL, rank_of
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Component, Keyword, Lit, Op, Ref

_SCALAR = ELEMENTAL | {"epsilon", "huge", "size", "tiny"}
_ARRAYS = frozenset({"coshape", "shape", "spread", "transfer"})
_BOUNDS = frozenset({"lbound", "lcobound", "ubound", "ucobound"})


def is_scalar(expr: Arg, scope: Scope) -> bool:
    """Whether an expression certainly has rank 0."""
    match expr:
        case Lit():
            return True
        case Op(operands=operands):
            scalars = all(is_scalar(operand, scope) for operand in operands)
            return scalars and is_intrinsic_operation(expr, scope)
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            if symbol is None or (args is None and symbol.dims is not None):
                return False
            if symbol.origin is Origin.INTRINSIC and rank_of(expr, scope) == 0:
                return True
            kind = name_kind(name, args is not None, scope)
            function = symbol.origin is Origin.INTRINSIC and name in _SCALAR
            if kind not in (NameKind.VARIABLE, NameKind.CONSTANT) and not function:
                return False
            return all(is_scalar(arg, scope) for arg in args or ())
        case Component():
            root, way = way_to(expr)
            declared = declarations_on_the_way(expr, scope)
            if declared is None or not is_scalar(root, scope):
                return False
            return all(
                (one.dims is None) == (part.args is None)
                and all(is_scalar(arg, scope) for arg in part.args or ())
                for one, part in zip(declared, way, strict=True)
            )
    return False


def gives_array(expr: Arg, scope: Scope) -> bool:
    """Whether an expression references a function whose result may be an array although no argument
    is.

    The result of a function without an explicit interface is a scalar (F2018 15.4.2.2).
    """
    if not isinstance(expr, Ref) or expr.args is None:
        return False
    match name_kind(expr.name, True, scope):
        case NameKind.VARIABLE | NameKind.CONSTANT:
            return False
        case NameKind.INQUIRY | NameKind.PURE_FUNCTION:
            given = [a for a in expr.args if not (isinstance(a, Keyword) and a.name == "kind")]
            return expr.name in _ARRAYS or (expr.name in _BOUNDS and len(given) == 1)
    symbol = scope.lookup(expr.name)
    if symbol is None:
        return True
    located = procedure_named(Ref(expr.name, expr.spelled), scope)
    inner = None if located is None else scope.scopes.of(located)
    if located is None or inner is None or inner.head is None:
        implicit = symbol.origin is Origin.LOCAL or "external" in symbol.attrs
        return not implicit or "procedure" in symbol.attrs
    result = inner.lookup(inner.head.result or located.unit.name)
    return result is None or result.dims is not None
