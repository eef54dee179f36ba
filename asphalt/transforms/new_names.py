"""Names for new variables: numbered, and never one that the unit has."""

from __future__ import annotations

import re

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


def next_number(unit: Unit, prefix: str) -> int:
    """The least number that no name with this prefix has in the unit, nor any greater one."""
    numbers = [re.fullmatch(r"\d+", name.removeprefix(prefix)) for name in names_of(unit, prefix)]
    return 1 + max((int(found[0]) for found in numbers if found), default=0)
