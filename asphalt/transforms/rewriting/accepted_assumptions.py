"""The assumptions that are accepted for one statement of a unit: by the user, or by directives."""

from __future__ import annotations

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.config.assumptions import Assumption, is_accepted
from asphalt.ir.tree import Leaf


def is_accepted_at(kind: Assumption, leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether an assumption is accepted for a statement: for all, in front of it, or by its unit,
    which need not be the one where it stands now."""
    directives = TransferDirectives(facts.located)
    said = directives.assumed(leaf)
    if line_of(leaf) not in facts.elsewhere:
        said |= directives.assumed_by_all
    site = f"{facts.unit.name or 'main'}:{line_of(leaf)}"
    return is_accepted(kind.word, facts.accepted | said, site)
