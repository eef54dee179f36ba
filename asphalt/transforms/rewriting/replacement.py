"""Replacement of a statement by others, under its condition and with its comments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import Guarded, What
from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.rewriting.comments import comments_inside


def statements_for(
    whats: Sequence[What], marks: Sequence[str], facts: UnitFacts
) -> Callable[[Leaf], tuple[Node, ...]]:
    """An edit that replaces a statement by others, each under the same condition, behind comments
    with the ``marks``."""

    def change(leaf: Leaf) -> tuple[Node, ...]:
        made: list[Leaf] = []
        for one in whats:
            what = replace(leaf.what, action=one) if isinstance(leaf.what, Guarded) else one
            made.append(replace(leaf, what=what, body=None, span=None, lead=(), trail=facts.eol))
        indent = leaf.head[: len(leaf.head) - len(leaf.head.lstrip())] if facts.free else ""
        comments = (Trivia(TriviaKind.COMMENT, f"{indent}! {text}{facts.eol}") for text in marks)
        inside = comments_inside(leaf, facts.free, facts.eol)
        made[0] = replace(made[0], lead=(*leaf.lead, *inside, *comments))
        made[-1] = replace(made[-1], trail=leaf.trail)
        return tuple(made)

    return change
