"""The statements of a procedure where nothing is passed for some of its optional dummies.

Before, in a call without ``wide``::

    n = 1
    if (present(wide)) n = wide
    if (present(mask) .or. n > 1) then
      ...

After, with ``mask`` passed or not::

    n = 1
    if (present(mask) .or. n > 1) then
      ...

What is only executed where an absent dummy is present is left out; what is always executed then
stands without its condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.edit import map_leaves
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, Lit, Op, Ref, Section
from asphalt.ir.stmt import IO, ArmHead, Guarded
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, leaves


def without_absent(
    body: tuple[Node, ...], absent: frozenset[str], scope: Scope, *, free: bool
) -> tuple[Node, ...]:
    """The statements that may be executed; ``absent``: the dummies for which nothing is passed.

    ``free``: they are in free form, so that they may stand in another column.
    """
    shared = any(leaf.joined for node in body for leaf in leaves(node))
    inquiry = scope.lookup("present")
    if not absent or shared or inquiry is None or inquiry.origin is not Origin.INTRINSIC:
        return body
    return tuple(one for node in body for one in _left(node, absent, free))


def _left(node: Node, absent: frozenset[str], free: bool) -> Iterator[Node]:
    """What is left of a statement."""

    def inside(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(one for child in nodes for one in _left(child, absent, free))

    match node:
        case Leaf(what=Guarded(condition=condition, action=action, kind="if") as guarded):
            value = _truth(condition, absent)
            less = _reduced(condition, absent)
            if not _is_free(node) or isinstance(action, IO) or less == condition:
                yield node
            elif value is None:
                yield replace(node, what=replace(guarded, condition=less), body=None)
            elif value:
                yield replace(node, what=action, body=None)
        case Branch(kind="if"):
            own = replace(node, arms=tuple(replace(a, body=inside(a.body)) for a in node.arms))
            yield from _of_branch(own, absent, free)
        case Branch():
            yield replace(node, arms=tuple(replace(a, body=inside(a.body)) for a in node.arms))
        case Do() | Block():
            yield replace(node, body=inside(node.body))
        case _:
            yield node


def _of_branch(branch: Branch, absent: frozenset[str], free: bool) -> Iterator[Node]:
    """What is left of an IF construct."""
    if not _is_free(branch) or any(not isinstance(arm.head.what, ArmHead) for arm in branch.arms):
        yield branch
        return
    arms: list[Arm] = []
    always = False
    for arm in branch.arms:
        what = arm.head.what
        assert isinstance(what, ArmHead)
        value = True if what.kind == "else" else _truth(what.exprs[0], absent)
        if value is False:
            continue
        kind = "if" if not arms else "else" if value else what.kind
        exprs = () if kind == "else" else tuple(_reduced(one, absent) for one in what.exprs)
        changed = replace(what, kind=kind, exprs=exprs)
        if changed != what:
            arm = replace(arm, head=replace(arm.head, what=changed, body=None))
        always = always or (value is True and not arms)
        arms.append(arm)
        if value:
            break
    first = branch.arms[0].head
    if not arms:
        return
    if always:
        yield from _taken_out(first, arms[0].body, free)
    else:
        head = replace(arms[0].head, lead=first.lead)
        yield replace(branch, arms=(replace(arms[0], head=head), *arms[1:]))


def _taken_out(head: Leaf, body: tuple[Node, ...], free: bool) -> Iterator[Node]:
    """The statements of an arm, as far in as the construct was."""
    if not body:
        return
    inner = next(iter(leaves(body[0])))
    columns = len(head.head) - len(inner.head) - inner.shift if free else 0
    for node in body:
        yield map_leaves(node, lambda leaf: replace(leaf, shift=leaf.shift + columns))


def _is_free(node: Node) -> bool:
    """Whether a statement may be left out: nothing jumps to it, or leaves it by its name."""
    own = tuple(leaves(node))
    return own[0].name is None and all(one.label is None for one in own)


def _reduced(condition: Arg, absent: frozenset[str]) -> Expr:
    """A condition without the operands that decide nothing; ``.true.`` stands for one that always
    holds."""
    match condition:
        case _ if _truth(condition, absent) is not None:
            return Lit("logical", ".true." if _truth(condition, absent) else ".false.")
        case Op(op="()" | ".not."):
            return replace(condition, operands=(_reduced(condition.operands[0], absent),))
        case Op(op=".and." | ".or."):
            open_ones = [one for one in condition.operands if _truth(one, absent) is None]
            left = tuple(_reduced(one, absent) for one in open_ones)
            return left[0] if len(left) == 1 else replace(condition, operands=left)
    assert not isinstance(condition, Section | Keyword | AltReturn)
    return condition


def _truth(condition: Arg, absent: frozenset[str]) -> bool | None:
    """Whether a condition holds; None: it is not known."""
    match condition:
        case Ref(name="present", args=(Ref(name=name),)) if name in absent:
            return False
        case Op(op="()" | ".not.", operands=(inner,)):
            value = _truth(inner, absent)
            return value if condition.op == "()" or value is None else not value
        case Op(op=".and." | ".or.", operands=operands):
            decides = condition.op == ".or."
            values = [_truth(one, absent) for one in operands]
            if decides in values:
                return decides
            return None if None in values else not decides
    return None
