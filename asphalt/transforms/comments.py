"""Comments of statements that are printed anew, and in front of those that are moved."""

from __future__ import annotations

from dataclasses import replace

from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.edit import map_leaves


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


def in_front(node: Node, lead: tuple[Trivia, ...]) -> Node:
    """The node with lines in front of all that is its own; they stay in their columns, whether or
    not the node is moved further in."""
    first = next(iter(leaves(node)))
    kept = outwards(lead, first.shift)

    def change(leaf: Leaf) -> Leaf:
        return replace(leaf, lead=(*kept, *leaf.lead)) if leaf is first else leaf

    return map_leaves(node, change)


def outwards(lead: tuple[Trivia, ...], columns: int) -> tuple[Trivia, ...]:
    """Lines in front of a statement, the comments among them moved out by some columns."""
    return tuple(
        replace(entry, text=_outwards(entry.text, columns))
        if entry.kind is TriviaKind.COMMENT and columns
        else entry
        for entry in lead
    )


def _outwards(text: str, columns: int) -> str:
    content = text.lstrip(" ")
    return " " * max(0, len(text) - len(content) - columns) + content
