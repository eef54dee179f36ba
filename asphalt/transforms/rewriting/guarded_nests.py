"""Nests, and nests in an IF construct of their own, as statements of a list."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.ir.tree import Branch, Do, Node


def nest_in(node: Node, facts: UnitFacts) -> Do | None:
    """The nest that a statement of a list is, or that an IF is around which may be written several
    times: nothing else is in it, and the nest changes nothing that the condition reads."""
    if isinstance(node, Do):
        return node
    if not isinstance(node, Branch) or node.kind != "if" or len(node.arms) != 1:
        return None
    (arm,) = node.arms
    if len(arm.body) != 1 or not isinstance(arm.body[0], Do):
        return None
    if any(leaf.label is not None or leaf.name is not None for leaf in (arm.head, node.end)):
        return None
    condition, nest = facts.footprint(arm.head), facts.footprint(arm.body[0])
    if condition.effects or any(access.writes for access in condition.accesses):
        return None
    if any(a.writes and a.meets(b) for a in nest.accesses for b in condition.accesses):
        return None
    return arm.body[0]


def around(node: Node, nests: tuple[Do, ...]) -> tuple[Node, ...]:
    """Parts of the nest of a statement, each as the statement is: under its condition, if it has
    one.  Comments stay at the first one."""
    if not isinstance(node, Branch):
        return nests
    (arm,) = node.arms
    found: list[Node] = []
    for number, nest in enumerate(nests):
        head, end = arm.head, node.end
        if number > 0:
            head = replace(head, lead=(), trail=plain(head.trail))
            end = replace(end, lead=(), trail=plain(end.trail))
        found.append(replace(node, arms=(replace(arm, head=head, body=(nest,)),), end=end))
    return tuple(found)


def plain(trail: str) -> str:
    """The end of a line without its comment."""
    if "!" not in trail:
        return trail
    return "\r\n" if trail.endswith("\r\n") else "\n"
