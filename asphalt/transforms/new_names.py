"""Names for new variables: numbered, and never one that the unit has."""

from __future__ import annotations

import re

from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import Ref, walk
from asphalt.ir.tree import Unit, leaves
from asphalt.transforms.declare import expressions_of


def names_of(unit: Unit, prefix: str) -> frozenset[str]:
    """The names in a unit's statements that begin with ``prefix`` (folded)."""
    return frozenset(
        part.name
        for leaf in leaves(unit)
        for expr in expressions_of(leaf.what)
        for part in walk(expr)
        if isinstance(part, Ref) and part.name.startswith(prefix)
    )


def next_number(facts: UnitFacts, prefix: str) -> int:
    """The least number that no name with this prefix has in the unit, used or only declared, nor
    any greater one."""
    names = names_of(facts.unit, prefix).union(facts.scope.own)
    numbers = [re.fullmatch(rf"{prefix}(\d+)", name) for name in names]
    return 1 + max((int(found[1]) for found in numbers if found), default=0)
