"""Changes of indentation that cannot change the meaning of statements.

In free form, printing does it (``Leaf.shift``).  In fixed form, this module changes the blanks of
statements that move to another place.  It leaves lines alone that would pass column 72 or that may
continue a character or Hollerith constant, labels, and comments.
"""

from __future__ import annotations

import re
from dataclasses import replace

from asphalt.ir.tree import Leaf, Node
from asphalt.transforms.rewriting.edit import map_leaves

_LABEL_FIELD = 6
_LAST_COLUMN = 72
_CONSTANT = re.compile(r"['\"]|\d\s*h", re.IGNORECASE)


def further_in(node: Node, columns: int, free: bool) -> Node:
    """The node with some columns more indentation (negative: less)."""
    if free:
        return map_leaves(node, lambda leaf: replace(leaf, shift=leaf.shift + columns))
    return map_leaves(node, lambda leaf: _in_fixed_form(leaf, columns))


def _in_fixed_form(leaf: Leaf, columns: int) -> Leaf:
    if leaf.span is None and not leaf.head:
        return replace(leaf, shift=leaf.shift + columns)
    text = f"{leaf.head}{leaf.body or ''}"
    if leaf.joined or leaf.frozen or leaf.macros or "\t" in text or "\n" in leaf.head:
        return leaf
    head = _moved(leaf.head, columns)
    if leaf.body is None:
        return replace(leaf, head=head)
    first, *rest = leaf.body.split("\n")
    if rest and _CONSTANT.search(leaf.body):
        return leaf
    lines = [first, *(line if _is_comment(line) else _moved(line, columns) for line in rest)]
    printed = "\n".join((f"{head}{lines[0]}", *lines[1:])) + _code_of(leaf.trail)
    before = text + _code_of(leaf.trail)
    if any(
        len(line.rstrip()) > _LAST_COLUMN for line in (*printed.split("\n"), *before.split("\n"))
    ):
        return leaf
    return replace(leaf, head=head, body="\n".join(lines))


def _code_of(trail: str) -> str:
    """The text behind a statement on its line, without a comment."""
    return trail.split("!")[0].split("\n")[0]


def _moved(line: str, columns: int) -> str:
    """A line with other blanks behind its label field."""
    label, rest = line[:_LABEL_FIELD], line[_LABEL_FIELD:]
    content = rest.lstrip(" ")
    return f"{label}{' ' * max(0, len(rest) - len(content) + columns)}{content}"


def _is_comment(line: str) -> bool:
    return not line.strip() or line[0] in "cC*!"
