"""Statements for messages that come and go in parts, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.equal_parts import ConstantTrips, MessageParts
from asphalt.analysis.tiling.tiled_groups import TiledGroup
from asphalt.config.limits import HEADER
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref
from asphalt.ir.records import record
from asphalt.ir.source import Trivia
from asphalt.ir.stmt import ArmHead, Call, DoHead, Guarded, What
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves, rewrite
from asphalt.transforms.rewriting.comments import assumptions, comments_inside, in_front
from asphalt.transforms.rewriting.edit import flat_map, map_leaves, shifted
from asphalt.transforms.rewriting.make import (
    Maker,
    add,
    compare,
    fn,
    maker_at,
    mul,
    num,
    quotient,
    respelled,
    size,
    sub,
    var,
)
from asphalt.transforms.rewriting.new_names import next_number

_ONE = Poly.constant(1)


@record
class MessageSpan:
    """A whole message: from the statement that starts it, at a position of a list, to the one that
    waits for it; a blocking call is both.

    ``starter``: the procedure of the runtime; ``arguments``: its arguments up to the
    communicator.  ``parts``: how it is cut, once that is known.  ``paced``: whether a part may wait
    for the part D tiles before it; otherwise all waits come behind the tiles.  ``is_own``: whether
    the program starts and completes it by two calls; ``stays``: why these cannot be replaced.
    """

    receives: bool
    operation: str
    starter: str
    arguments: tuple[Expr, ...]
    start: Leaf
    start_position: int
    end: Leaf
    end_position: int
    parts: MessageParts | None = None
    paced: bool = True
    is_own: bool = False
    stays: str | None = None

    @property
    def content(self) -> tuple[Expr, Expr, Expr]:
        """Buffer, count and datatype."""
        buffer, count, datatype = self.arguments[:3]
        own = isinstance(datatype, Component) and datatype.name == "mpi_val"
        return buffer, count, datatype.base if own and isinstance(datatype, Component) else datatype

    @property
    def is_blocking(self) -> bool:
        """Whether one statement starts it and waits for it."""
        return self.start is self.end


class Emission:
    """The statements of one wavefront in tiles."""

    def __init__(
        self,
        facts: UnitFacts,
        receive: MessageSpan,
        send: MessageSpan,
        trips: ConstantTrips,
        site: str,
        work: Poly,
        assumed: tuple[str, ...],
    ) -> None:
        self.facts = facts
        self.receive = receive
        self.send = send
        self.site = site
        self.work = work
        self.assumed = assumed
        number = next_number(facts, "asphalt_lo_", "asphalt_hi_", "asphalt_k_")
        self.lo, self.hi = var(f"asphalt_lo_{number}"), var(f"asphalt_hi_{number}")
        self.tile = var(f"asphalt_k_{number}")
        self.k, self.d = var(f"asphalt_k_{site}"), var(f"asphalt_d_{site}")
        first = next_number(facts, "asphalt_requests_")
        self.requests = {
            True: f"asphalt_requests_{first}",
            False: f"asphalt_requests_{first + 1}",
        }
        self.first, self.last = size(trips.first, facts.scope), size(trips.last, facts.scope)
        self.number = size(trips.number, facts.scope)

    def statements(
        self,
        siblings: tuple[Node, ...],
        groups: tuple[TiledGroup, ...],
        before: tuple[int, ...],
        after: tuple[int, ...],
        along: str,
    ) -> tuple[Node, ...]:
        """The list with the groups in tiles; ``before`` and ``after``: the statements in front of
        them and behind."""
        make = self._maker(siblings[groups[0].position])
        tiles = self._tiles(groups, make, along)
        made: list[Node] = []
        inside = range(groups[0].position, groups[-1].position + 1)
        for position, node in enumerate(siblings):
            if position == self.receive.start_position:
                made += self._posted(node, self._maker(node))
            elif position == self.send.end_position and not self.send.is_blocking:
                made += flat_map((node,), self.send.end, self._waited)
            elif position not in inside:
                made.append(node)
            if position == groups[0].position:
                made += (siblings[p] for p in before)
                made.append(tiles)
                made += self._waited_behind(groups[-1].node, make)
                made += (siblings[p] for p in after)
        return tuple(made)

    def _maker(self, node: Node) -> Maker:
        return maker_at(node, self.facts.located.form, self.facts.eol)

    def _posted(self, node: Node, make: Maker) -> tuple[Node, ...]:
        """All receives, where the first one was."""
        chosen = self._chosen(make)
        lead = next(iter(leaves(node))).lead
        if self.receive.is_blocking:
            group = self._under_condition(node, (self._posting(make),), make)
            return in_front(chosen, lead), group
        nodes = flat_map((node,), self.receive.start, self._posting_for)
        return in_front(chosen, lead), *(self._without_lead(n, lead) for n in nodes)

    def _chosen(self, make: Maker) -> Leaf:
        """How many iterations a tile has."""
        text = f"asphalt: K of {self.site} in {HEADER}; 0: chosen here, the same on all ranks"
        segment = fn("asphalt_segment", self.k, self.number, self._work())
        return make.assign(self.tile, segment, text)

    def _work(self) -> Expr:
        """The operations of an iteration as a real number, which no sizes overflow."""
        total: Expr | None = None
        for monomial, coefficient in sorted(self.work.terms, key=repr):
            term: Expr = Lit("real", f"{coefficient}.0")
            for atom in monomial:
                named = respelled(atom, self.facts.scope)
                assert isinstance(named, Ref)
                term = Op("*", (term, named))
            total = term if total is None else add(total, term)
        return total or Lit("real", "0.0")

    @staticmethod
    def _without_lead(node: Node, lead: tuple[Trivia, ...]) -> Node:
        """What stood in front of a statement that something is put before."""
        first = next(iter(leaves(node)))
        rest = tuple(entry for entry in first.lead if entry not in lead)
        return map_leaves(node, lambda leaf: replace(leaf, lead=rest) if leaf is first else leaf)

    def _posting_for(self, leaf: Leaf) -> tuple[Node, ...]:
        make = self._maker(leaf)
        if not isinstance(leaf.what, Guarded):
            return (in_front(self._posting(make), leaf.lead),)
        branch = make.branch(leaf.what.condition, (self._posting(make.inner()),))
        return (in_front(branch, leaf.lead),)

    def _posting(self, make: Maker) -> Do:
        inner = make.inner()
        return make.do(
            self.lo.name,
            self.first,
            self.last,
            (self._set_hi(inner), inner.leaf(self._started(self.receive))),
            step=self.tile,
        )

    def _set_hi(self, make: Maker) -> Leaf:
        end = sub(add(self.lo, self.tile), num(1))
        return make.assign(self.hi, fn("min", end, self.last))

    def _started(self, message: MessageSpan) -> Call:
        parts = message.parts
        assert parts is not None
        _, _, *others = message.arguments
        iterations: Expr = add(sub(self.hi, self.lo), num(1))
        if parts.each != _ONE:
            iterations = mul(size(parts.each, self.facts.scope), Op("()", (iterations,)))
        request = fn(self.requests[message.receives], self.lo)
        return Call(
            var(message.starter),
            (self._spelled(parts.element(self.lo)), iterations, *others, request),
        )

    def _spelled(self, element: Ref) -> Ref:
        """An element with bounds as the program spells them."""
        scope = self.facts.scope
        parts = self.facts.values.constants
        args = tuple(
            arg if not isinstance(arg, Op) else size(parts(arg), scope)
            for arg in element.args or ()
        )
        return replace(element, args=args)

    def _tiles(self, groups: tuple[TiledGroup, ...], make: Maker, along: str) -> Do:
        inner = make.inner()
        body: list[Node] = [self._set_hi(inner)]
        for group in groups:
            change = self._sent if group.call is self.send.start else self._received
            nodes: tuple[Node, ...] = (self._cut(group),)
            if group.call is not None:
                nodes = flat_map(nodes, group.call, change)
            if group is groups[0] and self.receive.is_blocking:
                lead = next(iter(leaves(group.node))).lead
                nodes = (self._without_lead(nodes[0], lead), *nodes[1:])
            body += (shifted(n, make.step) for n in nodes)
        text = f"asphalt: tiles of K iterations over {along}, each with its part of the messages"
        said = text, *assumptions(self.assumed)
        return make.do(self.lo.name, self.first, self.last, tuple(body), *said, step=self.tile)

    def _cut(self, group: TiledGroup) -> Node:
        """A group with its loops over the iterations of one tile."""
        heads = {id(loop.head): loop.head for loop in group.loops}

        def change(leaf: Leaf) -> Leaf:
            if id(leaf) not in heads or not isinstance(leaf.what, DoHead):
                return leaf
            inside = comments_inside(leaf, self.facts.free, self.facts.eol)
            cut = rewrite(leaf, replace(leaf.what, first=self.lo, last=self.hi))
            return replace(cut, lead=(*leaf.lead, *inside))

        return _kept(group.node, group.call, change)

    def _received(self, leaf: Leaf) -> tuple[Node, ...]:
        """The wait for the part of a tile."""
        call = self._wait(self.receive, self.lo)
        return (self._instead(leaf, call),)

    def _sent(self, leaf: Leaf) -> tuple[Node, ...]:
        """The start of the part of a tile, when that of the tile D before it is complete."""
        make = self._maker(leaf)
        inner = make.inner() if isinstance(leaf.what, Guarded) else make
        begun = quotient(Op("()", (sub(self.lo, self.first),)), self.tile)
        earlier = sub(self.lo, mul(self.d, self.tile))
        due = compare(begun, ">=", self.d)
        nodes: tuple[Node, ...] = (inner.leaf(self._started(self.send)),)
        if self.send.paced:
            wait = inner.branch(due, (inner.inner().leaf(self._wait(self.send, earlier)),))
            nodes = (wait, *nodes)
        if isinstance(leaf.what, Guarded):
            nodes = (make.branch(leaf.what.condition, nodes),)
        inside = comments_inside(leaf, self.facts.free, self.facts.eol)
        return (in_front(nodes[0], (*leaf.lead, *inside, *comment_behind(leaf, make))), *nodes[1:])

    def _waited(self, leaf: Leaf) -> tuple[Node, ...]:
        """The waits for all parts that are still on their way."""
        make = self._maker(leaf)
        if isinstance(leaf.what, Guarded):
            waits: Node = make.branch(leaf.what.condition, (self._all_waits(make.inner()),))
        else:
            waits = self._all_waits(make)
        return (in_front(waits, (*leaf.lead, *comment_behind(leaf, make))),)

    def _waited_behind(self, group: Node, make: Maker) -> tuple[Node, ...]:
        """The same behind the tiles, for a send that was blocking."""
        if not self.send.is_blocking:
            return ()
        return (self._under_condition(group, (self._all_waits(make),), make),)

    def _all_waits(self, make: Maker) -> Do:
        body = make.inner().leaf(self._wait(self.send, self.lo))
        return make.do(self.lo.name, self.first, self.last, (body,), step=self.tile)

    def _wait(self, message: MessageSpan, iteration: Expr) -> Call:
        request = fn(self.requests[message.receives], iteration)
        return Call(var("asphalt_wait"), (request, message.arguments[0]))

    @staticmethod
    def _under_condition(node: Node, inner: tuple[Node, ...], make: Maker) -> Node:
        """Statements under the condition of a group."""
        what = node.arms[0].head.what if isinstance(node, Branch) else next(leaves(node)).what
        match what:
            case Guarded(condition=condition):
                pass
            case ArmHead(exprs=(condition,)) if isinstance(condition, Expr):
                pass
            case _:
                return inner[0]
        return make.branch(condition, tuple(shifted(n, make.step) for n in inner))

    def _instead(self, leaf: Leaf, call: Call) -> Leaf:
        what: What = call
        if isinstance(leaf.what, Guarded):
            what = replace(leaf.what, action=call)
        inside = comments_inside(leaf, self.facts.free, self.facts.eol)
        return replace(leaf, what=what, body=None, span=None, lead=(*leaf.lead, *inside))


def comment_behind(leaf: Leaf, make: Maker) -> tuple[Trivia, ...]:
    """The comment behind a statement, as a line of its own."""
    own = leaf.trail.strip()
    return (make.comment(own.lstrip("!").strip()),) if own.startswith("!") else ()


def _kept(node: Node, call: Leaf | None, change: Callable[[Leaf], Leaf]) -> Node:
    """The node with leaves changed, but for the one that is replaced afterwards."""
    return map_leaves(node, lambda leaf: leaf if leaf is call else change(leaf))
