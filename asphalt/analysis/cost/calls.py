"""Calls without a cost: compilers inline the procedure."""

from __future__ import annotations

from asphalt.analysis.cost.scalar_replacement import expressions
from asphalt.analysis.cost.types import Surroundings, is_array, is_user_function
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Arg, Component, Expr, Op, Ref, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import Assign, Guarded, Jump, JumpKind, Plain, What
from asphalt.ir.tree import Leaf

MOST = 15
"""The operations of a procedure that compilers still inline (gcc -O2: max-inline-insns-auto)."""


def is_inlined(procedure: Expr, scope: Scope) -> bool:
    """Whether a called procedure is in the same file and small enough for compilers to inline it:
    assignments only, without a call."""
    found = procedure_named(procedure, scope)
    if found is None or found.path != scope.located.path or found.chain == scope.located.chain:
        return False
    return _is_small(found, Surroundings(scope.scopes.of(found)))


def _is_small(found: Located, around: Surroundings) -> bool:
    size = 0
    for node in found.unit.body:
        if not isinstance(node, Leaf) or not _is_plain(node.what):
            return False
        for expr in expressions(node.what):
            if any(is_user_function(part, around) for part in walk(expr)):
                return False
            size += sum(_is_counted(part, around) for part in walk(expr))
    return size <= MOST


def _is_plain(what: What) -> bool:
    match what:
        case Guarded(action=action, kind="if"):
            return _is_plain(action)
        case Assign(pointer=False) | Jump(kind=JumpKind.RETURN):
            return True
        case Plain(keyword="continue"):
            return True
    return False


def _is_counted(part: Arg, around: Surroundings) -> bool:
    match part:
        case Op(op=op):
            return op != "()"
        case Ref(args=tuple()) | Component(args=tuple()):
            return is_array(part, around)
    return False


__all__ = ["MOST", "is_inlined"]
