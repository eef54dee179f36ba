"""The loops in a construct, their ends, and whether a branch remains inside of it."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.memory.accesses import Effect
from asphalt.ir.stmt import DoHead, Guarded, Jump, JumpKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves


def ends_a_loop(leaf: Leaf, node: Node) -> bool:
    """Whether a label only closes loops inside the construct: the last statement of one, or of
    several that share it."""
    return any(
        isinstance(loop.head.what, DoHead)
        and loop.head.what.label == leaf.label
        and (loop.end is leaf or _last(loop) is leaf)
        for loop in loops_in(node)
    )


def loops_to(label: int, node: Node) -> int:
    """The number of loops of a construct that end with the statement of a label."""
    heads = (loop.head.what for loop in loops_in(node))
    return sum(isinstance(head, DoHead) and head.label == label for head in heads)


def ends_inside(loop: Do) -> bool:
    """Whether the labelled statement that ends a loop is the last one of it."""
    head = loop.head.what
    return isinstance(head, DoHead) and head.label is not None and _last(loop).label == head.label


def _last(loop: Do) -> Leaf:
    *_, last = leaves(loop)
    return last


def blocks_in(node: Node) -> Iterator[Block]:
    """The constructs that only group: BLOCK, ASSOCIATE, CRITICAL, FORALL ..."""
    match node:
        case Block():
            yield node
        case Do(body=body):
            for child in body:
                yield from blocks_in(child)
        case Branch(arms=arms):
            for arm in arms:
                for child in arm.body:
                    yield from blocks_in(child)


def loops_in(node: Node) -> Iterator[Do]:
    """The loops of a construct, itself included, the outermost first."""
    match node:
        case Do(body=body):
            yield node
            for child in body:
                yield from loops_in(child)
        case Branch(arms=arms):
            for arm in arms:
                for child in arm.body:
                    yield from loops_in(child)


def goes_on_inside(effect: Effect, node: Node) -> bool:
    """Whether an effect only transfers control within the construct: to the next iteration of a
    loop in it, or to its end."""
    what = effect.leaf.what
    if isinstance(what, Guarded):
        what = what.action
    if not isinstance(what, Jump) or what.kind not in (JumpKind.CYCLE, JumpKind.EXIT):
        return False
    if what.construct is None:
        return bool(effect.loops)
    return any(loop.head.name == what.construct for loop in loops_in(node))
