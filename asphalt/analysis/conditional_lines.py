"""Statements behind the sentinel ``!$``, which only a compilation with OpenMP executes.

Nothing that is concluded from the other statements of a unit holds where such a statement may
change a variable, or read one that seems dead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asphalt.ir.source import TriviaKind
from asphalt.ir.tree import Leaf, Unit, leaves

# what declares and does not execute
_DECLARES = re.compile(
    r"[!c*]\$\s*(&|use\b|include\b|external\b|integer\b|real\b|double\s*precision\b|logical\b"
    r"|character\b|complex\b|type\b)",
    re.IGNORECASE,
)


def conditional_statements(unit: Unit) -> Iterator[tuple[Leaf, str]]:
    """Each executable conditional line of a unit (without those that it contains), with the
    statement that follows it."""
    own = [leaf for node in unit.body for leaf in leaves(node)]
    for leaf in (*own, *((unit.contains,) if unit.contains is not None else ()), unit.end):
        for trivia in leaf.lead:
            text = trivia.text.strip()
            if trivia.kind is TriviaKind.CONDITIONAL and not _DECLARES.match(text):
                yield leaf, text
