"""New branches as a person writes them.

Before::

    if (.not. (ranks == 1)) then
      call MPI_Irecv(low, ...)
    end if
    if (.not. (ranks == 1)) then
      call MPI_Isend(first, ...)
    end if

After::

    if (ranks /= 1) then
      call MPI_Irecv(low, ...)
      call MPI_Isend(first, ...)
    end if

Inlined procedures that are left early, and branches that were split, leave such text.  It goes at
the very end, since proofs find a condition again by its text.  What the user wrote stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Expr, Op
from asphalt.ir.records import record
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.loops.branch_fission import repeatable
from asphalt.transforms.rewriting.comments import comments_inside, in_front
from asphalt.transforms.rewriting.edit import lists_in, map_leaves
from asphalt.transforms.rewriting.negation import opposite


def without_negations(facts: UnitFacts, given: Unit) -> Unit:
    """The unit with the opposite of a relation for its negation, in IF statements and constructs
    whose conditions the ``given`` unit has not."""
    known = {folded(c) for leaf in _leaves(given.body) if (c := _condition(leaf)) is not None}
    changed = False

    def change(leaf: Leaf) -> Leaf:
        nonlocal changed
        condition = _condition(leaf)
        if condition is None or folded(condition) in known:
            return leaf
        if not isinstance(condition, Op) or condition.op != ".not.":
            return leaf
        other = opposite(condition.operands[0], facts.scope)
        plain = not isinstance(other, Op) or other.op != ".not."
        if not plain or not _may_change(leaf) or comments_inside(leaf, facts.free, facts.eol):
            return leaf
        changed = True
        return rewrite(leaf, _with_condition(leaf, other))

    body = tuple(map_leaves(node, change) for node in facts.unit.body)
    return replace(facts.unit, body=body) if changed else facts.unit


def with_joined_branches(facts: UnitFacts, given: Unit) -> Unit:
    """The unit with IF constructs joined that follow each other and have the same condition, where
    the ``given`` unit has none that do."""
    known = {
        folded(condition)
        for _, nodes in lists_in(given.body)
        for condition in (_condition_of_two(*pair) for pair in pairwise(nodes))
        if condition is not None
    }
    body = _Joining(facts.once(Independence.of), known).of(facts.unit.body)
    return facts.unit if body is facts.unit.body else replace(facts.unit, body=body)


@record
class _Joining:
    """Joins branches of a unit; ``known``: the conditions for which it does not."""

    order: Independence
    known: Collection[Arg]

    def of(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """A list of statements with its branches joined; the same list where there are none."""
        found: list[Node] = []
        changed = False
        for number, node in enumerate(nodes):
            inner = self._inside(node)
            changed = changed or inner is not node
            before = found[-1] if found else None
            if (
                isinstance(before, Branch)
                and isinstance(inner, Branch)
                and self._belong_together(nodes[number - 1], node)
            ):
                found[-1] = _joined(before, inner)
                changed = True
            else:
                found.append(inner)
        return tuple(found) if changed else nodes

    def _inside(self, node: Node) -> Node:
        match node:
            case Do(body=body) | Block(body=body):
                new = self.of(body)
                return node if new is body else replace(node, body=new)
            case Branch(arms=arms):
                bodies = [self.of(arm.body) for arm in arms]
                if all(new is arm.body for new, arm in zip(bodies, arms, strict=True)):
                    return node
                pairs = zip(arms, bodies, strict=True)
                return replace(node, arms=tuple(replace(arm, body=b) for arm, b in pairs))
        return node

    def _belong_together(self, one: Node, other: Node) -> bool:
        condition = _condition_of_two(one, other)
        if condition is None or folded(condition) in self.known:
            return False
        if not isinstance(one, Branch) or not isinstance(other, Branch):
            return False
        size = len(one.arms[0].body)
        return _is_plain(one, other) and repeatable(one, (size,), self.order)


def _joined(one: Branch, other: Branch) -> Branch:
    (first,), (second,) = one.arms, other.arms
    lead = _comments((*one.end.lead, *second.head.lead))
    more = second.body
    if lead:
        more = (in_front(more[0], lead), *more[1:])
    return replace(other, arms=(replace(first, body=(*first.body, *more)),))


def _comments(lead: Iterable[Trivia]) -> tuple[Trivia, ...]:
    return tuple(line for line in lead if line.kind is TriviaKind.COMMENT)


def _condition_of_two(one: Node, other: Node) -> Expr | None:
    """The condition that two IF constructs with one arm each have."""
    found: list[Expr] = []
    for node in (one, other):
        if not isinstance(node, Branch) or node.kind != "if" or len(node.arms) != 1:
            return None
        condition = _condition(node.arms[0].head)
        if condition is None:
            return None
        found.append(condition)
    return found[0] if folded(found[0]) == folded(found[1]) else None


def _is_plain(one: Branch, other: Branch) -> bool:
    """Whether nothing but comments would go with the end of one IF and the head of the other."""
    end, head = one.end, other.arms[0].head
    silent = (TriviaKind.BLANK, TriviaKind.COMMENT)
    return (
        bool(other.arms[0].body)
        and all(line.kind in silent for line in (*end.lead, *head.lead))
        and all(_may_change(leaf) and "!" not in leaf.trail for leaf in (end, head))
        and all(leaf.name is None for leaf in (one.arms[0].head, head))
    )


def _may_change(leaf: Leaf) -> bool:
    """Whether a statement has its lines for itself, and the same text in all configurations."""
    return not (leaf.joined or leaf.frozen or leaf.macros) and leaf.label is None


def _condition(leaf: Leaf) -> Expr | None:
    """The condition of an IF statement or of an arm."""
    found: Arg | None = None
    match leaf.what:
        case Guarded(condition=condition, kind="if"):
            found = condition
        case ArmHead(kind="if" | "else_if", exprs=(condition,)):
            found = condition
    return found if isinstance(found, Expr) else None


def _with_condition(leaf: Leaf, condition: Expr) -> ArmHead | Guarded:
    what = leaf.what
    if isinstance(what, Guarded):
        return replace(what, condition=condition)
    assert isinstance(what, ArmHead)
    return replace(what, exprs=(condition,))


def _leaves(nodes: Iterable[Node]) -> Iterator[Leaf]:
    return (leaf for node in nodes for leaf in leaves(node))
