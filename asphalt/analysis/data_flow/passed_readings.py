"""Whether other statements may pass a reading of a clock: under the assumption ``timers``."""

from __future__ import annotations

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.clock_values import why_observed
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import Effect, EffectKind
from asphalt.config.assumptions import TIMERS
from asphalt.ir.tree import Node


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
