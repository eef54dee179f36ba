"""Declarations that inlining has brought, and that nothing uses any more, are left out.

A procedure is inlined with all variables that its statements name; branches that are decided then,
and calls that get other arguments, may leave some of them without use.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite

_WORD = re.compile(r"[a-z_]\w*")


def without_unused(unit: Unit, names: Collection[str]) -> Unit:
    """The unit without declarations of those of the ``names`` (folded) that stand nowhere else.

    It is one that was read: every statement has its text.
    """
    unused: frozenset[str] = frozenset()
    while (more := frozenset(names) - _used(unit, unused)) != unused:
        unused = more
    spec = (_without(node, unused) for node in unit.spec)
    return replace(unit, spec=tuple(node for node in spec if node is not None)) if unused else unit


def _used(unit: Unit, unused: frozenset[str]) -> frozenset[str]:
    """The words of a unit, without the names that declarations declare, and without what
    declarations of the ``unused`` name."""
    found: set[str] = set()
    for leaf in leaves(unit):
        words = set(_WORD.findall((leaf.body or "").lower()))
        what = leaf.what
        if isinstance(what, Decl) and what.kind == "type" and not leaf.joined:
            own = {entity.name for entity in what.entities}
            words -= own
            for entity in what.entities:
                if entity.name in unused:
                    continue
                inside = repr((entity.dims, entity.length, entity.initial)).lower()
                words |= own & set(_WORD.findall(inside))
            if own <= unused:
                words = set()
        found |= words
    return frozenset(found)


def _without(node: Node, unused: Collection[str]) -> Node | None:
    if not isinstance(node, Leaf) or not isinstance(node.what, Decl) or node.what.kind != "type":
        return node
    left = tuple(entity for entity in node.what.entities if entity.name not in unused)
    if len(left) == len(node.what.entities) or (not left and (node.lead or node.joined)):
        return node
    return rewrite(node, replace(node.what, entities=left)) if left else None
