"""Comments of statements that are printed anew."""

from __future__ import annotations

from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.tree import Leaf


def comments_inside(leaf: Leaf, free: bool, eol: str) -> tuple[Trivia, ...]:
    """The comments between the lines of a continued statement, as lines of their own."""
    lines = (leaf.body or "").split("\n")
    if len(lines) == 1:
        return ()
    if not free:
        found = [line for line in lines[1:] if line[:1] in ("!", "c", "C", "*")]
        return tuple(Trivia(TriviaKind.COMMENT, f"{c.rstrip()}{eol}") for c in found)
    indent = " " * (len(leaf.head) - len(leaf.head.lstrip()))
    found = [line[line.index("!") :].rstrip() for line in lines if "!" in line]
    return tuple(Trivia(TriviaKind.COMMENT, f"{indent}{c}{eol}") for c in found)
