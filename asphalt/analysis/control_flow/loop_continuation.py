"""What a loop does in all iterations but the last: ``if (k < n) ...`` in ``do k = 1, n``."""

from __future__ import annotations

from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Op
from asphalt.ir.stmt import ArmHead, DoHead, Guarded
from asphalt.ir.tree import Branch, Do, Leaf, Node


def continuation_condition(loop: Do) -> Arg | None:
    """The condition (folded) that another iteration of a loop follows; None: no statement of the
    loop tests it."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.var is None or head.last is None or head.step:
        return None
    goes_on = folded(Op("<", (head.var, head.last)))
    return goes_on if any(if_condition(node) == goes_on for node in loop.body) else None


def if_condition(node: Node) -> Arg | None:
    """The condition (folded) of an IF statement, or of an IF construct with one arm."""
    if isinstance(node, Branch) and node.kind == "if" and len(node.arms) == 1:
        what = node.arms[0].head.what
        return folded(what.exprs[0]) if isinstance(what, ArmHead) and what.exprs else None
    if isinstance(node, Leaf) and isinstance(node.what, Guarded) and node.what.kind == "if":
        return folded(node.what.condition)
    return None
