"""A nest written several times, each time for some of its iterations: interior and edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.loop_exits import ends_a_loop
from asphalt.analysis.dependence.row_loops import RowLoop, Rows
from asphalt.analysis.memory.affine_guards import extremes
from asphalt.analysis.names.openmp_sentinels import is_threading
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.tiling.edge_iterations import EdgeCounts
from asphalt.ir.expr import Expr
from asphalt.ir.stmt import DoHead, Plain
from asphalt.ir.tree import Arm, Branch, Do, Leaf, Node, leaves, rewrite
from asphalt.transforms.rewriting.edit import map_leaves
from asphalt.transforms.rewriting.make import fn, maker_at, num, size

_ONE = Poly.constant(1)
_CONTINUE = Plain("continue")


def interior(
    nest: Do,
    ends: tuple[EdgeCounts, ...],
    comments: tuple[str, ...],
    facts: UnitFacts,
    rows: Rows | None = None,
) -> Do:
    """The nest without the iterations at the ends of its loops.  ``ends``: of each of its perfectly
    nested loops, the outermost first; loops behind the last one have none.  ``rows``: if the last
    loop is behind row loops, which then have the iterations that it needs."""
    heads = [_inside(loop, own, facts.scope) for loop, own in zip(_chain(nest), ends, strict=False)]
    return marked(with_heads(nest, heads, rows, facts.scope), comments, facts)


def edges(
    nest: Do, ends: tuple[EdgeCounts, ...], facts: UnitFacts, rows: Rows | None = None
) -> tuple[Do, ...]:
    """Nests for the other iterations: the ends of the outermost loop with all iterations of the
    others, then those of the next loop with the interior of the outermost one, and so on."""
    plain = without_comments(nest, facts.eol)
    chain = _chain(plain)
    made: list[Do] = []
    for number, own in enumerate(ends):
        before = [
            _inside(loop, outer, facts.scope)
            for loop, outer in zip(chain[:number], ends, strict=False)
        ]
        behind = rows if number == len(ends) - 1 else None
        heads = _at_ends(chain[number], own, facts, apart=behind is not None)
        made += (with_heads(plain, [*before, head], behind, facts.scope) for head in heads)
    made[0] = marked(made[0], ("asphalt: the edges of the nest",), facts)
    return tuple(made)


def _chain(nest: Do) -> list[DoHead]:
    """The heads of perfectly nested loops, the outermost first, and of a loop behind row loops."""
    heads: list[DoHead] = []
    node: Node | None = nest
    while isinstance(node, Do) and isinstance(node.head.what, DoHead):
        heads.append(node.head.what)
        node = next((child for child in reversed(node.body) if isinstance(child, Do)), None)
    return heads


def _bounds(head: DoHead) -> tuple[Poly, Poly]:
    assert head.first is not None
    assert head.last is not None
    return poly(head.first), poly(head.last)


def _inside(head: DoHead, ends: EdgeCounts, scope: Scope) -> DoHead:
    first, last = _bounds(head)
    if ends.first:
        head = replace(head, first=size(first + Poly.constant(ends.first), scope))
    if ends.last:
        head = replace(head, last=size(last - Poly.constant(ends.last), scope))
    return head


def _at_ends(
    head: DoHead, ends: EdgeCounts, facts: UnitFacts, apart: bool = False
) -> Iterator[DoHead]:
    """The loop over the first and the last iterations, or one for each end (``apart``: always)."""
    scope = facts.scope
    first, last = _bounds(head)
    if ends == EdgeCounts(1, 1) and not apart:
        distance = last - first
        step = _greater(num(1), distance, scope)
        yield replace(head, step=None if step == num(1) else step)
        return
    behind = first + Poly.constant(ends.first)
    if ends.first:
        to = behind - _ONE
        known = (last - to).value
        end: Expr = fn("min", size(to, scope), _own(head.last))
        if known is not None:
            end = size(to, scope) if known >= 0 else _own(head.last)
        yield replace(head, last=end)
    if ends.last:
        begin = last - Poly.constant(ends.last - 1)
        known = (begin - behind).value
        start: Expr = fn("max", size(begin, scope), size(behind, scope))
        if known is not None:
            start = size(begin if known >= 0 else behind, scope)
        yield replace(head, first=start)


def _own(bound: Expr | None) -> Expr:
    assert bound is not None
    return bound


def _greater(one: Expr, distance: Poly, scope: Scope) -> Expr:
    if distance.value is not None:
        return num(max(1, distance.value))
    return fn("max", one, size(distance, scope))


def with_heads(
    nest: Do, heads: list[DoHead], rows: Rows | None = None, scope: Scope | None = None
) -> Do:
    """The nest with other heads of its outermost loops.  ``rows``: if the last of these loops is
    behind row loops, which get the iterations that it needs (``scope``: of the unit)."""
    own, *inner = heads
    head = nest.head if nest.head.what == own else rewrite(nest.head, own)
    body = nest.body
    if len(inner) == 1 and rows is not None:
        assert scope is not None
        loops = [child for child in body if isinstance(child, Do)]
        needed = (_needed(inner[0], row, scope) for row in rows.loops)
        new = {id(loop): one for loop, one in zip(loops, (*needed, inner[0]), strict=True)}
        body = tuple(with_heads(n, [new[id(n)]]) if isinstance(n, Do) else n for n in body)
    elif inner:
        body = tuple(
            with_heads(child, inner, rows, scope) if isinstance(child, Do) else child
            for child in body
        )
    return Do(head, body, nest.end)


def _needed(last: DoHead, row: RowLoop, scope: Scope) -> DoHead:
    """The head of a row loop with the iterations that those of the last loop need."""
    own = row.loop.head.what
    assert isinstance(own, DoHead)
    first = _limit(own.first, last.first, row.least, ">=", scope)
    return replace(own, first=first, last=_limit(own.last, last.last, row.greatest, "<=", scope))


def _limit(own: Expr | None, limit: Expr | None, offset: int, relation: str, scope: Scope) -> Expr:
    """The narrower of a loop's own limit and another one that is ``offset`` away."""
    sign = 1 if relation == ">=" else -1
    parts = extremes(limit, relation)
    found: list[Poly] = []
    for one in (
        *(poly(part) + Poly.constant(offset) for part in parts[1:] or parts),
        poly(_own(own)),
    ):
        beyond = [(other - one).value for other in found]
        if not any(d is not None and sign * d >= 0 for d in beyond):
            found = [other for other, d in zip(found, beyond, strict=True) if d is None] + [one]
    exprs = [_own(own) if one == poly(_own(own)) else size(one, scope) for one in found]
    return exprs[0] if len(exprs) == 1 else fn("max" if sign > 0 else "min", *exprs)


def without_comments(nest: Do, eol: str) -> Do:
    """The nest for a second time: comments and labels stand at the interior only.  The directive
    of a parallel loop stands at each part."""
    directive = tuple(entry for entry in nest.head.lead if is_threading(entry))

    def change(leaf: Leaf) -> Leaf:
        return replace(leaf, lead=(), trail=eol)

    made = map_leaves(unlabelled(nest), change)
    assert isinstance(made, Do)
    return replace(made, head=replace(made.head, lead=directive))


def why_not_repeated(nest: Do, facts: UnitFacts) -> str | None:
    """The name or label that keeps a nest from being written a second time.  A label that only ends
    loops, at a CONTINUE, does not, since END DO can replace it."""
    inside = tuple(leaves(nest))
    ways = {label for leaf in inside for label in jump_targets(leaf.what)}
    for leaf in inside:
        ends = leaf.what == _CONTINUE and leaf.label not in ways and ends_a_loop(leaf, nest)
        if leaf.name is not None or (leaf.label is not None and not ends):
            return f"{facts.at(leaf)} has a label or a name"
    return None


def unlabelled(node: Node) -> Node:
    """A loop, and those in it, with END DO where ``10 continue`` ends one or several of them."""
    if isinstance(node, Branch):
        arms = (Arm(arm.head, tuple(map(unlabelled, arm.body))) for arm in node.arms)
        return replace(node, arms=tuple(arms))
    if not isinstance(node, Do):
        return node
    body = tuple(unlabelled(child) for child in node.body if not _only_ends(child))
    what = node.head.what
    if not isinstance(what, DoHead) or what.label is None:
        return replace(node, body=body)
    head = rewrite(node.head, replace(what, label=None))
    return Do(head, body, Leaf(Plain("end do"), head=node.head.head))


def _only_ends(node: Node) -> bool:
    """Whether a statement does nothing but end loops around it."""
    return isinstance(node, Leaf) and node.what == _CONTINUE and node.label is not None


def marked(nest: Do, comments: tuple[str, ...], facts: UnitFacts) -> Do:
    """The nest with comments in front, and in front of its directive."""
    make = maker_at(nest, facts.located.form, facts.eol)
    own = nest.head.lead
    place = next((n for n, entry in enumerate(own) if is_threading(entry)), len(own))
    lead = (*own[:place], *map(make.comment, comments), *own[place:])
    return replace(nest, head=replace(nest.head, lead=lead))
