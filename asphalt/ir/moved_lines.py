"""Nodes of a file whose text stands some lines further down, or up."""

from __future__ import annotations

from typing import cast

from asphalt.ir.source import Span
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, Unit, once, remade

_KEPT = 4  # of the places to which a unit has moved


def moved_unit(unit: Unit, lines: int) -> Unit:
    """A unit whose text stands ``lines`` lines further down: only its spans change.  Of those that
    moved so far, it is the same object each time, for a while."""
    if lines == 0:
        return unit
    known = once(unit, _places)
    found = known.pop(lines, None)
    if found is None:
        found = cast(Unit, _node(unit, lines))
    known[lines] = found
    if len(known) > _KEPT:
        del known[next(iter(known))]
    return found


def _places(unit: Unit) -> dict[int, Unit]:
    """The unit where it has moved to, the last place last."""
    del unit
    return {}


def _node(node: Node, lines: int) -> Node:
    match node:
        case Leaf():
            return _leaf(node, lines)
        case Do(head=head, body=body, end=end):
            last = None if end is None else _leaf(end, lines)
            return Do(_leaf(head, lines), _nodes(body, lines), last)
        case Branch(kind=kind, arms=arms, end=end):
            moved = tuple(Arm(_leaf(arm.head, lines), _nodes(arm.body, lines)) for arm in arms)
            return Branch(kind, moved, _leaf(end, lines))
        case Block(kind=kind, head=head, body=body, end=end):
            return Block(kind, _leaf(head, lines), _nodes(body, lines), _leaf(end, lines))
        case Unit():
            return Unit(
                node.kind,
                node.name,
                None if node.head is None else _leaf(node.head, lines),
                _nodes(node.spec, lines),
                _nodes(node.body, lines),
                None if node.contains is None else _leaf(node.contains, lines),
                tuple(cast(Unit, _node(unit, lines)) for unit in node.contained),
                _leaf(node.end, lines),
            )


def _nodes(nodes: tuple[Node, ...], lines: int) -> tuple[Node, ...]:
    return tuple(_node(node, lines) for node in nodes)


def _leaf(leaf: Leaf, lines: int) -> Leaf:
    span = leaf.span
    if span is None:
        return leaf
    first, last = span.first + lines, span.last + lines
    return remade(leaf, leaf.what, Span(span.file, first, span.first_col, last, span.last_col))
