"""Calls that take no time worth mentioning: they count, or read a clock, and that is all."""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.clocks import clock_arguments
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Ref, walk
from asphalt.ir.stmt import ArmHead, Assign, Call, Guarded, Jump, JumpKind, Plain, What
from asphalt.ir.tree import Leaf, leaves

_FEW = 8
"""Statements of a procedure; more are a computation."""


def only_counts(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether a statement only calls procedures of the tree that assign a few scalars and elements,
    or a clock."""
    call = leaf.call
    if call is None:
        return False
    effects = facts.footprint(leaf).effects
    if any(effect.kind is not EffectKind.CLOCK for effect in effects):
        return False
    return _is_short(call, facts.scope, frozenset())


def _is_short(call: Call, scope: Scope, seen: frozenset[UnitKey]) -> bool:
    if clock_arguments(call, scope) is not None:
        return True
    found = invoked(call, scope)
    if found is None or (key := unit_key(found[0])) in seen:
        return False
    inside = scope.scopes.of(found[0])
    own = [leaf for node in found[0].unit.body for leaf in leaves(node)]
    return len(own) <= _FEW and all(
        _is_small(what, inside, seen | {key}) for leaf in own for what in actions(leaf.what)
    )


def _is_small(what: What, scope: Scope, seen: frozenset[UnitKey]) -> bool:
    """Whether a statement assigns one element at most."""
    match what:
        case Assign(target=target, value=value, pointer=False):
            functions = (
                invoked(Call(Ref(part.name, part.name), part.args or ()), scope)
                for part in walk(value)
                if isinstance(part, Ref)
            )
            return is_scalar(target, scope) and not any(functions)
        case Call():
            return _is_short(what, scope, seen)
        case Guarded(kind="if") | Plain() | ArmHead(kind="if" | "else_if" | "else"):
            return True
        case Jump(kind=JumpKind.RETURN):
            return True
    return False
