"""Statements that constants keep from being executed: behind conditions, in loops of no
iterations, or in cases that are not selected."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.constant_conditions import ConstantConditions
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Keyword, Lit, Op, Ref, Section
from asphalt.ir.stmt import ArmHead, DoHead, Guarded
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, leaves


def is_dead(leaf: Leaf, facts: UnitFacts) -> bool:
    """Whether constants keep a statement, or the action of a one-line IF, from being executed."""
    truth = ConstantConditions(facts.scope, facts.values)
    what = leaf.what
    if isinstance(what, Guarded) and truth.of(what.condition, leaf) is False:
        return True
    around = _around(leaf, facts.unit.body)
    return any(_passes_by(node, inner, truth, facts) for node, inner in around)


def _around(leaf: Leaf, nodes: tuple[Node, ...]) -> Iterator[tuple[Node, Arm | None]]:
    """The constructs around a statement, each with the arm that it is in."""
    for node in nodes:
        if isinstance(node, Leaf) or not any(own is leaf for own in leaves(node)):
            continue
        match node:
            case Branch(arms=arms):
                for arm in arms:
                    if any(own is leaf for inner in arm.body for own in leaves(inner)):
                        yield node, arm
                        yield from _around(leaf, arm.body)
            case Do(body=body) | Block(body=body):
                yield node, None
                yield from _around(leaf, body)


def _passes_by(node: Node, inner: Arm | None, truth: ConstantConditions, facts: UnitFacts) -> bool:
    """Whether a construct never executes its body, or an arm of its branches."""
    match node:
        case Do(head=Leaf(what=DoHead(kind="count", first=first, last=last, step=step)) as head):
            if first is None or last is None:
                return False
            way = facts.values.polynomial(last, head) - facts.values.polynomial(first, head)
            by = Poly.constant(1) if step is None else facts.values.polynomial(step, head)
            return way.value is not None and by.value is not None and way.value * by.value < 0
        case Branch(kind="if", arms=arms) if inner is not None:
            head = arms[0].head
            for arm in arms:
                value = _value(arm, head, truth)
                if arm is inner:
                    return value is False
                if value:
                    return True
        case Branch(kind="select", arms=arms) if inner is not None:
            return _is_not_selected(arms[0].head, inner, truth, facts)
    return False


def _is_not_selected(head: Leaf, arm: Arm, truth: ConstantConditions, facts: UnitFacts) -> bool:
    """Whether a constant selects what is not certainly this arm of a SELECT CASE."""
    opening, own = head.what, arm.head.what
    if not isinstance(opening, ArmHead) or not isinstance(own, ArmHead) or not opening.exprs:
        return False
    selector = opening.exprs[0]
    if isinstance(selector, Section | Keyword | AltReturn):
        return False
    if isinstance(selector, Lit) or truth.of(selector, head) is not None:
        return True
    value = facts.values.polynomial(selector, head).value
    items = (item for item in own.exprs if isinstance(item, Lit | Ref | Op))
    return value is not None and all(
        facts.values.polynomial(item, head).value != value for item in items
    )


def _value(arm: Arm, head: Leaf, truth: ConstantConditions) -> bool | None:
    what = arm.head.what
    return truth.of(what.exprs[0], head) if isinstance(what, ArmHead) and what.exprs else None
