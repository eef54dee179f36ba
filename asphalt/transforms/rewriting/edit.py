"""Edits of trees: statements replaced or indented, and their positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.ir.edit import lists_in as lists_in
from asphalt.ir.edit import map_leaves as map_leaves
from asphalt.ir.edit import rewrite_list as rewrite_list
from asphalt.ir.source import TriviaKind
from asphalt.ir.tree import Block, Branch, Do, File, Leaf, Node, Unit, leaves


def flat_map(
    nodes: tuple[Node, ...], old: Leaf, change: Callable[[Leaf], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """The statements with one of them, compared by identity, replaced by others."""
    found: list[Node] = []
    for node in nodes:
        match node:
            case Leaf() if node is old:
                found += change(node)
            case Do(body=body):
                found.append(replace(node, body=flat_map(body, old, change)))
            case Block(body=body):
                found.append(replace(node, body=flat_map(body, old, change)))
            case Branch(arms=arms):
                mapped = tuple(replace(a, body=flat_map(a.body, old, change)) for a in arms)
                found.append(replace(node, arms=mapped))
            case _:
                found.append(node)
    return tuple(found)


def shifted(node: Node, columns: int) -> Node:
    """The node with more indentation."""
    return map_leaves(node, lambda leaf: replace(leaf, shift=leaf.shift + columns))


def column(leaf: Leaf) -> int:
    """The column in which a statement begins, from 0; tabs go to multiples of 8."""
    return len(leaf.head.rsplit("\n", 1)[-1].expandtabs(8))


def why_not_removable(node: Node, following: Node | None) -> str | None:
    """Why the lines of a statement in front of another one cannot be removed from their file."""
    own = tuple(leaves(node))
    where = f"line {line_of(own[0])}"
    if following is None:
        return f"{where}: it is the last statement here"
    if next(leaves(following)).joined:
        return f"{where} has several statements"
    for number, leaf in enumerate(own):
        if leaf.span is None or leaf.name is not None:
            return f"{where} has a construct name"
        kinds = (TriviaKind.BLANK, TriviaKind.COMMENT)
        if any(entry.kind not in kinds for entry in leaf.lead):
            return f"{where} follows a line that is not a comment"
        if number == 0 and leaf.label is not None:
            return f"{where} has a label"
    return None


def replace_unit(file: File, old: Unit, new: Unit) -> File:
    """The file with one unit replaced (compared by identity)."""
    return replace(file, units=tuple(_replaced(unit, old, new) for unit in file.units))


def _replaced(unit: Unit, old: Unit, new: Unit) -> Unit:
    if unit is old:
        return new
    inner = tuple(_replaced(one, old, new) for one in unit.contained)
    if all(a is b for a, b in zip(inner, unit.contained, strict=True)):
        return unit
    return replace(unit, contained=inner)
