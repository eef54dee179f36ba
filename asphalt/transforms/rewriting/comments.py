"""The comments of statements that are reprinted or moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.rewriting.edit import map_leaves

_FIXED = ("c", "C", "*")
"""What begins a line of fixed form that is a comment, besides ``!``."""

STANDS_HERE = "stands here"
"""How a comment ends that tells where the body of a procedure begins."""
NOT_STORED = "asphalt: nothing is stored to"
"""How a comment begins that stands where a statement was."""


def tells_of_its_place(line: Trivia) -> bool:
    """Whether a comment of asphalt's is about its place, not about the statement behind it."""
    text = line.text.strip().removeprefix("! ")
    body = text.startswith("asphalt: ") and text.endswith(STANDS_HERE)
    return line.kind is TriviaKind.COMMENT and (body or text.startswith(NOT_STORED))


def body_comment(procedure: str, path: str) -> str:
    """What tells where the body of a procedure begins that stood in a file."""
    return f"asphalt: {procedure} of {PurePath(path).name} {STANDS_HERE}"


def assumptions(assumed: Iterable[str]) -> tuple[str, ...]:
    """The comment for each assumption that new statements rest on."""
    return tuple(f"asphalt: assumed: {name}" for name in assumed)


def comments_inside(leaf: Leaf, free: bool, eol: str) -> tuple[Trivia, ...]:
    """The comments in and between the lines of a continued statement, as lines of their own."""
    indent = " " * (len(leaf.head) - len(leaf.head.lstrip())) if free else ""
    found = _comments((leaf.body or "").split("\n"), free)
    texts = (f"! {text[1:]}" if text[:2] == "!$" else text for text in found)  # no directive
    return tuple(Trivia(TriviaKind.COMMENT, f"{indent}{text}{eol}") for text in texts)


def _comments(lines: list[str], free: bool) -> Iterator[str]:
    """The comments in the lines of a statement; what character constants contain is none."""
    quote = ""
    for number, line in enumerate(lines):
        begins = 0 if free or not number else 6  # the columns of a statement
        alone = line.lstrip() if begins == 0 else line[:5].lstrip() or line[6:].lstrip()
        if number and (alone[:1] == "!" or (begins and line[:1] in _FIXED)):
            yield line.strip()
            continue
        for at in range(begins, len(line)):
            character = line[at]
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            elif character == "!":
                yield line[at:].rstrip()
                break


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
