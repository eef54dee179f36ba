"""Defined operations and defined assignments on derived types.

Less strict than ``operators``: an operand counts as of derived type only where it may be one, so
that asphalt can follow sizes that are components while definitions are visible.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.operators import (
    finalizers_visible,
    is_intrinsic_assignment,
    is_intrinsic_operation,
)
from asphalt.analysis.names.derived_types import component_type
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Arg, Component, Op, Ref, TypeSpec
from asphalt.ir.stmt import Assign

_LOGICAL = (".and.", ".or.", ".not.", ".eqv.", ".neqv.")


def may_be_function(op: Op, scope: Scope) -> bool:
    """Whether an operation may be a defined operation, which references a function."""
    if is_intrinsic_operation(op, scope):
        return False
    own = op.op.startswith(".") and op.op not in _LOGICAL
    return own or any(may_be_derived(operand, scope) for operand in op.operands)


def may_be_subroutine(assign: Assign, scope: Scope) -> bool:
    """Whether an assignment may be a defined assignment, which calls a subroutine."""
    if assign.pointer or is_intrinsic_assignment(assign, scope):
        return False
    return may_be_derived(assign.target, scope) or may_be_derived(assign.value, scope)


def may_finalize(assign: Assign, scope: Scope) -> bool:
    """Whether an assignment may call a final subroutine for the old value of its target, or for the
    result of a function in it (F2018 7.5.6.3)."""
    if assign.pointer or not finalizers_visible(scope):
        return False
    return may_be_derived(assign.target, scope) or may_be_derived(assign.value, scope)


def finalizes_at_end(scope: Scope) -> bool:
    """Whether a call of the unit may call a final subroutine: for local variables when it returns,
    or for INTENT(OUT) dummies when it begins (F2018 7.5.6.3)."""
    return finalizers_visible(scope) and any(
        _is_derived(symbol.type)
        and "pointer" not in symbol.attrs
        and (
            symbol.intent == "out" or (symbol.origin is Origin.LOCAL and "save" not in symbol.attrs)
        )
        for symbol in scope.declared.symbols.values()
    )


def may_be_derived(expr: Arg, scope: Scope) -> bool:
    """Whether an expression may be of a derived type."""
    match expr:
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is None:
                return True
            known = symbol.origin in (Origin.INTRINSIC, Origin.MPI)
            return not known and _is_derived(symbol.type)
        case Component():
            path: list[str] = []
            base: Arg = expr
            while isinstance(base, Component):
                path.insert(0, base.name)
                base = base.base
            symbol = scope.lookup(base.name) if isinstance(base, Ref) else None
            return symbol is None or _is_derived(component_type(symbol, tuple(path)))
        case Op(operands=operands):
            return any(may_be_derived(operand, scope) for operand in operands)
        case _:
            return False


def _is_derived(spec: TypeSpec | None) -> bool:
    return spec is None or spec.base in ("type", "class")
