"""The assumptions that the user or a directive accepts for one statement."""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.config.assumptions import Assumption, is_accepted
from asphalt.ir.tree import Leaf
from asphalt.support.asked_assumptions import record


def is_accepted_at(kind: Assumption, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether an assumption is accepted for a statement: for all sites, by a directive in front of
    it, or by one of its original unit (the statement may have been inlined into another)."""
    directives = facts.once(_directives)
    said = directives.assumed(leaf)
    if line_of(leaf) not in facts.elsewhere:
        said |= directives.assumed_by_all
    site = f"{facts.unit.name or 'main'}:{line_of(leaf)}"
    accepted = is_accepted(kind.word, facts.accepted | said, site)
    facts.asked.add((kind.word, accepted))
    record(facts.asked)
    return accepted


def _directives(facts: UnitFacts) -> TransferDirectives:
    return TransferDirectives(facts.located)
