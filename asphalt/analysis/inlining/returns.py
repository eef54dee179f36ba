"""The statements of a procedure without its RETURNs: what they skip stands in branches.

Before::

    if (ranks == 1) then
      u(0) = u(n)
      return
    end if
    call MPI_Sendrecv(...)

After::

    if (ranks == 1) then
      u(0) = u(n)
    else
      call MPI_Sendrecv(...)
    end if

``if (c) return`` becomes an IF construct whose condition is negated.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.inlining.codes import TEXT, WAYS, RefusedError
from asphalt.analysis.names.references import actions
from asphalt.ir.expr import Lit, Op
from asphalt.ir.source import Trivia
from asphalt.ir.stmt import ArmHead, Guarded, Jump, JumpKind, Plain
from asphalt.ir.tree import Arm, Branch, Leaf, Node, leaves


def without_returns(nodes: tuple[Node, ...], name: str, jumps: bool) -> tuple[Node, ...]:
    """The statements without RETURN.  ``jumps``: some of them jump to labels.

    Raises:
        RefusedError: no branch skips what a RETURN skips.
    """
    if nodes and isinstance(nodes[-1], Leaf) and is_return(nodes[-1]):
        last = nodes[-1]
        if last.joined:
            raise RefusedError(TEXT, f"the last RETURN of {name} shares its line with others")
        nodes = nodes[:-1]
        if last.label is not None:
            nodes = (*nodes, replace(last, what=Plain("continue"), body=None))
    for number, node in enumerate(nodes):
        condition = condition_of_return(node)
        ends = condition is None and _all_arms_return(node)
        if condition is None and not ends:
            continue
        rest = nodes[number + 1 :]
        if jumps or any(leaf.label is not None for n in nodes for leaf in leaves(n)):
            raise RefusedError(WAYS, f"{name} has a RETURN in the middle, and labels")
        following = next((leaf for n in rest for leaf in leaves(n)), None)
        first = next(iter(leaves(node)))
        if following is None and not ends:
            return nodes[:number]
        shared = condition is not None and any(leaf.joined for leaf in leaves(node))
        if shared or (following is not None and following.joined) or first.joined:
            raise RefusedError(TEXT, f"a RETURN of {name} shares its line with others")
        inner = without_returns(rest, name, jumps)
        if condition is None:
            assert isinstance(node, Branch)
            _check_ways(tuple(child for arm in node.arms for child in arm.body[:-1]), name)
            return (*nodes[:number], _skipping(node, inner, name))
        # the head keeps its place and what stands in front of it
        head = replace(first, what=ArmHead("if", (condition,)), body=None)
        end = Leaf(Plain("end if"), head=first.head)
        return (*nodes[:number], Branch("if", (Arm(head, inner),), end))
    _check_ways(nodes, name)
    return nodes


def leaves_early(node: Node) -> bool:
    """Whether what stands behind a statement may be skipped by a RETURN in it, and would stand in
    a branch without that."""
    return condition_of_return(node) is not None or _all_arms_return(node)


def is_return(leaf: Leaf) -> bool:
    """Whether a statement is RETURN."""
    return isinstance(leaf.what, Jump) and leaf.what.kind is JumpKind.RETURN


def condition_of_return(node: Node) -> Op | None:
    """The condition of ``if (c) return``, negated."""
    match node:
        case Leaf(what=Guarded(condition=condition, action=Jump(kind=JumpKind.RETURN), kind="if")):
            pass
        case Branch(
            kind="if",
            arms=(Arm(head=Leaf(what=ArmHead(exprs=(c,)), name=None), body=(Leaf() as only,)),),
        ) if is_return(only):
            condition = c  # type: ignore[assignment]
        case _:
            return None
    return Op(".not.", (condition if isinstance(condition, Lit) else Op("()", (condition,)),))


def _check_ways(nodes: tuple[Node, ...], name: str) -> None:
    """Check that no statement is a RETURN."""
    for node in nodes:
        for leaf in leaves(node):
            if any(isinstance(w, Jump) and w.kind is JumpKind.RETURN for w in actions(leaf.what)):
                raise RefusedError(WAYS, f"{name} has a RETURN in the middle")


def _all_arms_return(node: Node) -> bool:
    """Whether a node is an IF construct without ELSE each arm of which ends with RETURN."""
    if not isinstance(node, Branch) or node.kind != "if":
        return False
    return all(_ends_with_return(arm) for arm in node.arms)


def _ends_with_return(arm: Arm) -> bool:
    """Whether an arm with a condition and without a construct name ends with RETURN."""
    head = arm.head.what
    last = arm.body[-1] if arm.body else None
    return (
        isinstance(head, ArmHead)
        and head.kind in ("if", "else_if")
        and arm.head.name is None
        and isinstance(last, Leaf)
        and is_return(last)
    )


def _skipping(node: Branch, rest: tuple[Node, ...], name: str) -> Branch:
    """An IF construct whose arms end with RETURN, without these, and the rest as its ELSE arm.
    Comments in front of a RETURN stand in front of what follows it."""
    arms, waiting = [], tuple[Trivia, ...]()
    for arm in node.arms:
        last = arm.body[-1]
        assert isinstance(last, Leaf)
        if last.joined or arm.head.joined or node.end.joined:
            raise RefusedError(TEXT, f"a RETURN of {name} shares its line with others")
        head = replace(arm.head, lead=(*waiting, *arm.head.lead))
        arms.append(Arm(head, arm.body[:-1]))
        waiting = last.lead
    if not rest:
        return Branch("if", tuple(arms), replace(node.end, lead=(*waiting, *node.end.lead)))
    head = Leaf(ArmHead("else"), lead=waiting, head=node.arms[0].head.head)
    return Branch("if", (*arms, Arm(head, rest)), node.end)
