"""Numbered names for new variables, none of which the unit has or gets by use association."""

from __future__ import annotations

import re

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.used_names import used_names
from asphalt.analysis.names.visibility import words_of
from asphalt.ir.expr import Ref, walk
from asphalt.ir.tree import leaves
from asphalt.transforms.rewriting.declare import expressions_of

REQUEST = "asphalt_request_"
"""What the names of requests begin with, of the transfers that become non-blocking."""
_PREFIX = "asphalt_"


def next_number(facts: UnitFacts, *prefixes: str) -> int:
    """The least number above those of all names with one of these prefixes in the unit.

    The names are those that the unit or its internal procedures use, those that the unit declares,
    and those that it gets by use association, which it may not declare (F2018 19.5.1.4).  A name of
    the host that the unit and its internal procedures do not mention may be declared: it is then
    another variable.
    """
    names = facts.once(_taken)
    pattern = re.compile(rf"(?:{'|'.join(map(re.escape, prefixes))})(\d+)")
    numbers = [pattern.fullmatch(name) for name in names]
    return 1 + max((int(found[1]) for found in numbers if found), default=0)


def _taken(facts: UnitFacts) -> frozenset[str]:
    """The names with the prefix of asphalt that the unit may not declare (folded)."""
    named = {
        part.name
        for leaf in leaves(facts.unit)
        for expr in expressions_of(leaf.what)
        for part in walk(expr)
        if isinstance(part, Ref)
    }
    named |= words_of(facts.unit) | set(facts.scope.own) | used_names(facts.scope)
    return frozenset(name for name in named if name.startswith(_PREFIX))
