"""Comments that stay where they are when the statement behind them moves up.

What asphalt says about a place, that the body of a procedure begins there or that a store was
dropped there, is no word about the statement which happens to stand behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.mpi.call import mpi_call_in
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.source import Trivia
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.motion.schedules import Move
from asphalt.transforms.rewriting.comments import STANDS_HERE, in_front, tells_of_its_place
from asphalt.transforms.rewriting.edit import map_leaves


def with_comments_in_place(
    nodes: tuple[Node, ...], moves: Iterable[Move], scope: Scope
) -> tuple[Node, ...]:
    """The statements of a list, still in their order, with such comments of those that move up in
    front of the next one that does not move.

    Where the body of a procedure begins is told in front of an MPI call alone, which does not begin
    another one: a statement behind the body is none of it.
    """
    kept, order, moved, up = list(nodes), tuple(range(len(nodes))), set[int](), list[int]()
    for move in moves:
        moved.add(order[move.origin])
        up += [order[move.origin]] if move.target < move.origin else []
        order = move.moved(order)
    for number in reversed(up):
        first = next(leaves(kept[number]))
        following = next((n for n in range(number + 1, len(kept)) if n not in moved), None)
        if following is None:
            continue
        other = kept[following]
        calls = isinstance(other, Leaf) and mpi_call_in(other, scope) is not None
        calls = calls and not any(map(_body, next(leaves(other)).lead))
        stays = tuple(e for e in first.lead if tells_of_its_place(e) and (calls or not _body(e)))
        if not stays:
            continue
        kept[number] = _without(kept[number], stays)
        own = next(leaves(other)).lead
        kept[following] = in_front(other, tuple(e for e in stays if e not in own))
    return tuple(kept)


def _without(node: Node, lines: tuple[Trivia, ...]) -> Node:
    """The node without lines in front of its first statement."""
    first = next(leaves(node))

    def change(leaf: Leaf) -> Leaf:
        if leaf is not first:
            return leaf
        return replace(leaf, lead=tuple(entry for entry in leaf.lead if entry not in lines))

    return map_leaves(node, change)


def _body(line: Trivia) -> bool:
    return line.text.rstrip().endswith(STANDS_HERE)
