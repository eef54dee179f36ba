"""Replace the statements of a list that a path leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asphalt.ir.tree import Block, Branch, Do, Node

Rewrite = Callable[[tuple[Node, ...]], tuple[Node, ...]]


def rewrite_list(
    nodes: tuple[Node, ...], path: tuple[int, ...], change: Rewrite
) -> tuple[Node, ...]:
    """The statement list with the list that ``path`` leads to changed.

    ``path`` ends with a position in that list.  The steps before it are child numbers; for a
    Branch, the number of the arm follows.
    """
    if len(path) == 1:
        return change(nodes)
    number = path[0]
    node = nodes[number]
    changed: Node
    match node:
        case Do(body=body):
            changed = replace(node, body=rewrite_list(body, path[1:], change))
        case Block(body=body):
            changed = replace(node, body=rewrite_list(body, path[1:], change))
        case Branch(arms=arms):
            which = path[1]
            arm = replace(arms[which], body=rewrite_list(arms[which].body, path[2:], change))
            changed = replace(node, arms=(*arms[:which], arm, *arms[which + 1 :]))
        case _:
            raise AssertionError("a path leads into a leaf")
    return (*nodes[:number], changed, *nodes[number + 1 :])
