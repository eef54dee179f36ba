"""Whether other statements may pass a reading of a clock: under the assumption ``timers``."""

from __future__ import annotations

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.clock_values import why_observed
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.invoked import invoked
from asphalt.analysis.memory.accesses import Effect, EffectKind
from asphalt.analysis.names.scopes import Scope
from asphalt.config.assumptions import TIMERS
from asphalt.ir.stmt import Call, DoHead
from asphalt.ir.tree import Leaf, Node, leaves

_DEPTH = 3  # calls below a call


def why_reading_stays(effect: Effect, facts: UnitFacts) -> str | None:
    """Why a reading of a clock keeps its place, as a clause; None: it may be passed."""
    why = why_observed(effect.detail, facts.effects)
    if why is not None:
        return f"{effect.described}: {why}"
    return None if is_accepted_at(TIMERS, effect.leaf, facts) else effect.described


def may_be_passed(facts: UnitFacts) -> bool:
    """Whether a unit reads a clock, directly or in a call, that ``timers`` would let others
    pass."""
    return any(
        why_observed(effect.detail, facts.effects) is None
        for node in facts.unit.body
        for effect in facts.footprint(node).effects
        if effect.kind is EffectKind.CLOCK
    )


def reads_a_clock(node: Node, facts: UnitFacts) -> bool:
    """Whether a statement or construct reads a clock, directly or in a call."""
    return any(effect.kind is EffectKind.CLOCK for effect in facts.footprint(node).effects)


def only_reads_clocks(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether a call does nothing that takes time: it reads a clock, and there is no loop in it."""
    effects = facts.footprint(leaf).effects
    if not effects or any(effect.kind is not EffectKind.CLOCK for effect in effects):
        return False
    return leaf.call is not None and _is_short(leaf.call, facts.scope, _DEPTH)


def _is_short(call: Call, scope: Scope, depth: int) -> bool:
    """Whether a procedure and those that it calls have no loops."""
    found = invoked(call, scope)
    if found is None:
        return True
    located = found[0]
    inside = scope.scopes.of(located)
    own = tuple(leaf for node in located.unit.body for leaf in leaves(node))
    if depth == 0 or any(isinstance(leaf.what, DoHead) for leaf in own):
        return False
    return all(_is_short(leaf.call, inside, depth - 1) for leaf in own if leaf.call is not None)
