"""Starts in the order of the source, where one stands behind the other.

Before::

    call MPI_Isend(last, ..., requests(4), ierr)
    call MPI_Isend(first, ..., requests(3), ierr)
    call MPI_Irecv(high, ..., requests(2), ierr)
    call MPI_Irecv(low, ..., requests(1), ierr)

After::

    call MPI_Irecv(low, ..., requests(1), ierr)
    call MPI_Irecv(high, ..., requests(2), ierr)
    call MPI_Isend(first, ..., requests(3), ierr)
    call MPI_Isend(last, ..., requests(4), ierr)

Code motion takes one start after the other past the work, each as far as it goes, so that they end
in the opposite order.  Nothing else stands between them: no window gets more or less by it.  This
is done once, when all steps are, since the search for steps depends on the order of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.ir.expr import Expr, Lit, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import What
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.motion.comments_in_place import with_comments_in_place
from asphalt.transforms.motion.schedules import Move
from asphalt.transforms.rewriting.checked_sizes import is_checked
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.new_names import REQUEST

_Place = tuple[str, int]
"""What kind of start it is, and its place among those of this kind."""


def in_source_order(facts: UnitFacts, given: Unit) -> Unit:
    """The unit with neighbouring starts in the order that they have in the ``given`` unit, or in
    that of their requests in one array, as far as they commute with those that they pass, and with
    no more sizes checked than before; the same unit where they have it."""
    order = _Order(facts.once(Messages), facts.once(Independence.of), _places(given))
    body = facts.unit.body
    for path, siblings in lists_in(facts.unit.body):
        if moves := tuple(order.moves(path, siblings)):
            body = rewrite_list(body, (*path, 0), _moving(moves, facts))
    return facts.unit if body is facts.unit.body else replace(facts.unit, body=body)


def _moving(
    moves: tuple[Move, ...], facts: UnitFacts
) -> Callable[[tuple[Node, ...]], tuple[Node, ...]]:
    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nodes = with_comments_in_place(nodes, moves, facts.scope)
        for move in moves:
            nodes = move.moved(nodes)
        return nodes

    return change


def _places(given: Unit) -> Mapping[What, int]:
    """Where the unit has each of its calls; those that it has twice have no place."""
    found: dict[What, int] = {}
    twice: set[What] = set()
    for place, leaf in enumerate(leaf for node in given.body for leaf in leaves(node)):
        if leaf.call is not None and not leaf.frozen:
            twice |= {leaf.what} & found.keys()
            found[leaf.what] = place
    return {what: place for what, place in found.items() if what not in twice}


@record
class _Order:
    """The starts of a unit; ``places``: those of the user's calls."""

    messages: Messages
    independence: Independence
    places: Mapping[What, int]

    def moves(self, path: tuple[int, ...], siblings: tuple[Node, ...]) -> Iterator[Move]:
        """The moves, one after the other, that bring the starts of a list into their order."""
        begin = 0
        places = [self._place(node) for node in siblings]
        for number, place in enumerate(places):
            before = places[number - 1] if number else None
            if place is None or before is None or place[0] != before[0]:
                begin = number
                continue
            target = number
            while target > begin and self._goes_before(siblings[number], siblings[target - 1]):
                target -= 1
            if target < number:
                what = siblings[number]
                first = next(leaves(what))
                does = f"the start of {self.messages.facts.at(first)} is in the source's order"
                move = Move(line_of(first), does, (), path, number, target)
                siblings = move.moved(siblings)
                places = list(move.moved(tuple(places)))
                yield move

    def _goes_before(self, moved: Node, other: Node) -> bool:
        own, theirs = self._place(moved), self._place(other)
        if own is None or theirs is None or own >= theirs:
            return False
        if self.independence.why_not(other, moved) is None:
            return True
        sizes = self.independence.sizes_for(other, moved)
        return sizes is not None and all(is_checked(name, self.messages.facts) for name in sizes)

    def _place(self, node: Node) -> _Place | None:
        """None: it is not only a start, or none that has a place."""
        if not self.messages.only_starts(node):
            return None
        calls = ((leaf, self.messages.call(leaf)) for leaf in leaves(node))
        starts = ((x, call) for x, call in calls if call and stage_of(call) is Stage.START)
        return next((self._of(leaf, call.args.get("request")) for leaf, call in starts), None)

    def _of(self, leaf: Leaf, request: Expr | None) -> _Place | None:
        if not isinstance(request, Ref):
            return None
        number = request.name.removeprefix(REQUEST)
        if request.name.startswith(REQUEST) and number.isdigit():
            return "made", int(number)
        if leaf.what in self.places:
            return "given", self.places[leaf.what]
        element = request.args[0] if request.args and len(request.args) == 1 else None
        place = element.integer if isinstance(element, Lit) else None
        return None if place is None else (request.name, place)
