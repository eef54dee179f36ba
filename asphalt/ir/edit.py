"""Edits of trees: each leaf, or the list of statements that a path leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit

Rewrite = Callable[[tuple[Node, ...]], tuple[Node, ...]]


def map_leaves(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    """The node with every leaf changed, but not those of contained units."""
    match node:
        case Leaf():
            return change(node)
        case Do(head=head, body=body, end=end):
            return Do(
                change(head),
                tuple(map_leaves(n, change) for n in body),
                None if end is None else change(end),
            )
        case Branch(kind=kind, arms=arms, end=end):
            mapped = tuple(
                Arm(change(a.head), tuple(map_leaves(n, change) for n in a.body)) for a in arms
            )
            return Branch(kind, mapped, change(end))
        case Block(kind=kind, head=head, body=body, end=end):
            return Block(
                kind, change(head), tuple(map_leaves(n, change) for n in body), change(end)
            )
        case Unit(head=start, contains=contains, end=end):
            return replace(
                node,
                head=None if start is None else change(start),
                spec=tuple(map_leaves(n, change) for n in node.spec),
                body=tuple(map_leaves(n, change) for n in node.body),
                contains=None if contains is None else change(contains),
                end=change(end),
            )
    return node


def lists_in(
    nodes: tuple[Node, ...], path: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], tuple[Node, ...]]]:
    """Every statement list of an executable part with the path to it, the innermost first."""
    for number, node in enumerate(nodes):
        match node:
            case Do(body=body) | Block(body=body):
                yield from lists_in(body, (*path, number))
            case Branch(arms=arms):
                for which, arm in enumerate(arms):
                    yield from lists_in(arm.body, (*path, number, which))
    yield path, nodes


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
