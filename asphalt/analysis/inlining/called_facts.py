"""The analyses of the procedures that a unit calls, kept for all texts of the unit.

The optimiser reads a unit again after each step.  A procedure whose text has not changed, nor that
of anything that it names, does in each of these texts what it does in the program from which they
are edited (``Effects.same_elsewhere``): so it is analysed there, once for all texts.
"""

from __future__ import annotations

from asphalt.analysis.call_graph.call_sites import unit_key
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.ir.program import Located


class CalledFacts:
    """The procedures that a unit calls, with their analyses."""

    def __init__(self, facts: UnitFacts) -> None:
        self._caller = facts
        self._known: dict[object, UnitFacts] = {}

    def of(self, callee: Located) -> UnitFacts:
        """The analyses of one of them, which has the statements of ``callee``."""
        key = unit_key(callee)
        if key not in self._known:
            self._known[key] = self._found(callee)
        return self._known[key]

    def _found(self, callee: Located) -> UnitFacts:
        own = self._caller
        same = own.effects.same_elsewhere(callee)
        # where it stands in other lines, messages about it would be about these
        if same is None or same[1].unit is not callee.unit:
            return UnitFacts(callee, own.effects, own.eol, own.uniformity, own.accepted)
        effects, located = same
        return effects.once(_Kept).of(located, own.eol, own.accepted)


class _Kept:
    """The procedures of a program that were analysed for texts of their callers."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._known: dict[object, UnitFacts] = {}

    def of(self, callee: Located, eol: str, accepted: frozenset[str]) -> UnitFacts:
        key = unit_key(callee), eol, accepted
        if key not in self._known:
            self._known[key] = UnitFacts(callee, self._effects, eol, accepted=accepted)
        return self._known[key]
