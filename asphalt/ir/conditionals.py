"""Preprocessor conditionals: the nesting depth at a statement."""

from __future__ import annotations

import re

from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.tree import Leaf, Unit, leaves

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")


def change(trivia: Trivia) -> tuple[int, bool]:
    """The change of the nesting depth by a line, and whether the line begins another branch."""
    if trivia.kind not in (TriviaKind.CPP, TriviaKind.DEAD):
        return 0, False
    found = _DIRECTIVE.match(trivia.text)
    if found is None:
        return 0, False
    word = found[1]
    if word in ("if", "ifdef", "ifndef"):
        return 1, False
    return (-1, False) if word == "endif" else (0, True)


def is_conditional(trivia: Trivia) -> bool:
    """Whether a line is a directive of a conditional, or one that the preprocessor removes: what
    stays of the text in one configuration does not need it."""
    if trivia.kind is TriviaKind.DEAD:
        return True
    return trivia.kind is TriviaKind.CPP and _DIRECTIVE.match(trivia.text) is not None


def depth_before(unit: Unit, target: Leaf) -> int | None:
    """The number of conditionals that begin inside a unit and are open at a statement of it.

    None: the conditionals do not nest within the unit, so that the unit is only part of what the
    preprocessor chooses from.
    """
    depth = 0
    own = list(leaves(unit))
    for number, leaf in enumerate(own):
        for trivia in leaf.lead if number else ():
            step, branch = change(trivia)
            depth += step
            if depth < 0 or (branch and depth == 0):
                return None
        if leaf is target:
            return depth
    return None
