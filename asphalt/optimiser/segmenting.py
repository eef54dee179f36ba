"""Messages of a unit cut into segments at both ends, one after the other, each if that gains.

This comes last: what the whole message overlaps with is known then, and the model
(``gain.segments``) says what segments gain beyond that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.messages import Messages, Way, envelopes_of
from asphalt.analysis.messages.sole_pair import SolePair
from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.analysis.names.designators import symbol_named
from asphalt.config.limits import HEADER, USUAL_DEPTH
from asphalt.config.passes import Pass
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Model, Price, networks_named
from asphalt.gain.segments import SegmentedMessage, saved, usual_tile
from asphalt.ir.expr import Expr
from asphalt.ir.tree import Leaf, Node
from asphalt.optimiser.dropped import not_kept, together_not_kept, with_tried
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import FIXPOINT, Optimised, Tiled, Transfer
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import MOST_STEPS, PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.inlining import inline
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking, single_waits
from asphalt.transforms.nonblocking.single_waits import SplitWait
from asphalt.transforms.rewriting.step import Phase
from asphalt.transforms.tiling import segmentation
from asphalt.transforms.tiling.pipelining import LEAST_WORK
from asphalt.transforms.tiling.segment_tiles import SegmentEnd
from asphalt.transforms.tiling.segmented_sides import Segmented

IN_SEGMENTS = "messages are cut into segments without it"


class Segmenting:
    """The messages of one unit that may be cut into segments."""

    def __init__(self, shop: Workshop, overlap: Overlap) -> None:
        self.shop = shop
        self.overlap = overlap
        estimates = Model(networks_named(shop.options.networks), sizes=shop.options.sizes)
        self.model = shop.model if isinstance(shop.model, Model) else estimates

    def of(self, found: Optimised, prepared: UnitState) -> Optimised:
        """The unit with messages in segments.  ``prepared``: where to look for messages if nothing
        else gained."""
        if not {Pass.PIPELINING, Pass.NONBLOCKING} <= set(self.shop.passes):
            return found
        begin = UnitState(self.shop.tree, found.steps, found.trees)
        if found.content is not None:
            begin = replace(begin, tree=self.shop.tree_of(found))
        after = self._all(found, begin, begin.tree)
        if after.tiled:
            return after
        nothing = replace(after, content=None, steps=(), transfers=(), cleared=(), trees=())
        for other in (UnitState(self.shop.tree, ()), prepared):
            if other.tree is not begin.tree:
                more = self._all(nothing, other, begin.tree)
                if more.tiled and not (other.steps and self._stay_apart()):
                    return with_tried(
                        more, *together_not_kept(self.shop, found.steps, None, IN_SEGMENTS)
                    )
        return after

    def _stay_apart(self) -> bool:
        """Whether a procedure that could be inlined has messages that can be cut there."""
        tree = self.shop.tree
        for step in inline.check(self.shop.facts(tree)) if Pass.INLINE in self.shop.passes else ():
            if isinstance(step, inline.Inline):
                callee = step.plan.callee
                chain = tuple(unit.name for unit in callee.chain)
                shop = self.shop.for_unit(tree, callee.path, chain)
                nothing = Optimised(callee.path, chain[-1], None, (), (), (), FIXPOINT)
                begin = UnitState(tree, ())
                if Segmenting(shop, Overlap(shop)).of(nothing, begin).tiled:
                    return True
        return False

    def _all(self, found: Optimised, begin: UnitState, before: Tree) -> Optimised:
        """All messages of a state cut that gain.  ``before``: the tree whose price the first one
        has to beat."""
        tried = 0
        while len(begin.steps) < MOST_STEPS:
            if tried >= len(self._pairs(begin)):
                break
            more = self._one(found, begin, tried, before)
            if isinstance(more, Optimised):
                found, tried = more, tried + 1
            else:
                begin, found = more
                before = begin.tree
        return found

    def _pairs(self, state: UnitState) -> list[tuple[Leaf, Leaf]]:
        return list(_pairs(self.shop.facts(state.tree)))

    def _one(
        self, found: Optimised, begin: UnitState, number: int, before: Tree
    ) -> Optimised | tuple[UnitState, Optimised]:
        """The state with one message cut into segments, if that is possible and gains.  ``number``:
        of the message in the unit."""
        state, step = self._found(begin, *self._pairs(begin)[number])
        if step is None:
            parted = self._waits_apart(begin, *self._pairs(begin)[number])
            if parted is not begin:
                state, step = self._found(parted, *self._pairs(parted)[number])
        prices = None if step is None else self._prices(before, state, step)
        if step is None or prices is None:
            return found
        if not prices[1].gains(prices[0]):
            lost = not_kept(self.shop, state.tree, Pass.PIPELINING, step, prices)
            return with_tried(found, lost)
        return self._applied(found, begin, state, step, prices)

    def _found(
        self, begin: UnitState, send: Leaf, receive: Leaf
    ) -> tuple[UnitState, Segmented | None]:
        """The state in which one message can be cut."""
        lines = {line_of(send), line_of(receive)}
        calls = nonblocking.check(self.shop.facts(begin.tree))
        others = frozenset(call.line for call in calls if isinstance(call, nonblocking.Split))
        split, _ = self.overlap.split(begin, others - lines)
        # the second one leaves branches whole
        fillings = (PHASES[Phase.WINDOWS], (code_motion.TRANSFORMATION,))
        ways = (self._possible(self.shop.closure(split, filling)) for filling in fillings)
        return next((way for way in ways if way is not None), (split, None))

    def _waits_apart(self, begin: UnitState, send: Leaf, receive: Leaf) -> UnitState:
        """The state in which a message that the program starts itself is waited for alone."""
        for leaf in (send, receive) if Pass.WAITS in self.shop.passes else ():
            facts = self.shop.facts(begin.tree)
            ends = facts.once(Messages).completion(leaf) or ()
            for step in single_waits.check(facts):
                if isinstance(step, SplitWait) and any(step.leaf is end for end in ends):
                    return self.shop.applied(begin, facts, single_waits.TRANSFORMATION, step)
        return begin

    def _possible(self, state: UnitState) -> tuple[UnitState, Segmented] | None:
        """A message that can be cut, where its nests are worth two tiles."""
        facts = self.shop.facts(state.tree)
        steps = (s for s in segmentation.check(facts) if isinstance(s, Segmented))
        step = next((s for s in steps if s.amount >= LEAST_WORK), None)
        return None if step is None else (state, step)

    def _applied(
        self,
        found: Optimised,
        begin: UnitState,
        state: UnitState,
        step: Segmented,
        prices: tuple[Price, Price],
    ) -> tuple[UnitState, Optimised]:
        step = replace(step, site=self.shop.new_site(state.tree, step.site))
        does = f"is cut into segments along {step.along}, K and D of {step.site} in {HEADER}"
        new = [replace(self.shop.placed(begin.tree, one), does=does) for one in state.split]
        lines = [line_of(end.message.start) for end in (step.receive, step.send)]
        places = [self.shop.place(state.tree, line) for line in lines]
        overlapped = [
            replace(one, does=does, overlaps=())
            if SourceLine(one.path, one.line) in places
            else one
            for one in found.transfers
        ]
        new += self._own(
            state, step, does, {SourceLine(one.path, one.line) for one in (*overlapped, *new)}
        )
        place = self.shop.place(state.tree, step.line)
        operation = next(
            (
                one.operation
                for one in (*new, *overlapped)
                if SourceLine(one.path, one.line) == place
            ),
            step.send.message.operation,
        )
        tiled = Tiled(step.site, place.line, operation, step.along, place.path)
        facts = self.shop.facts(state.tree)
        after = self.shop.applied(state, facts, segmentation.TRANSFORMATION, step)
        gained = dict(zip(self.shop.model.names, prices[1].saved(prices[0]), strict=True))
        steps = (*after.steps[:-1], replace(after.steps[-1], gained=gained))
        after = replace(after, steps=steps, split=())
        found = replace(
            found,
            content=after.tree.content(self.shop.path),
            beside=dict(self.shop.known.beside(after.tree)),
            steps=steps,
            trees=(after.tree,),
            transfers=tuple(sorted((*overlapped, *new), key=lambda t: t.line)),
            tiled=(*found.tiled, tiled),
        )
        return after, found

    def _own(
        self, state: UnitState, step: Segmented, does: str, overlapped: Collection[SourceLine]
    ) -> list[Transfer]:
        """The ends of a message that the program starts itself, that are not listed yet."""
        ends = (Transfer(line_of(one.message.start), one.message.operation, 1, does=does)
                for one in (step.receive, step.send) if one.message.is_own)  # fmt: skip
        placed = (self.shop.placed(state.tree, one) for one in ends)
        return [one for one in placed if SourceLine(one.path, one.line) not in overlapped]

    def _prices(self, tree: Tree, state: UnitState, step: Segmented) -> tuple[Price, Price] | None:
        """What the unit costs before, and with a message in segments; None: its sizes are not
        known."""
        message = self._message(state, step)
        if message is None:
            return None
        gains = [saved(message, network) for network in self.model.networks]
        if self.model is not self.shop.model:  # of executions, which know no segments yet
            worst = min(gains)
            gains = [worst for _ in self.shop.model.names]
        before, whole = self.shop.price(tree), self.shop.price(state.tree)
        seconds = tuple(w - g for w, g in zip(whole.seconds, gains, strict=True))
        return before, Price(seconds)

    def _message(self, state: UnitState, step: Segmented) -> SegmentedMessage | None:
        facts = self.shop.facts(state.tree)
        seconds = self.model.seconds(state.tree, self.shop.located(state.tree))
        plain = facts.scope_of_these_sizes
        parts = step.send.message.parts
        assert parts is not None
        symbol = symbol_named(parts.buffer.name, facts.scope)
        element = None if symbol is None else element_bytes(symbol, facts.scope)
        number = constant(step.trips.number.expression(), plain)
        each = constant(parts.each.expression(), plain)
        if not number or each is None or element is None:
            return None
        return SegmentedMessage(
            number,
            usual_tile(number, step.amount / number),
            float(each * element),
            seconds(_loops(step.send)) / number,
            seconds(_loops(step.receive)) / number,
            seconds(step.between),
            USUAL_DEPTH if step.send.message.paced else number,
        )


def _loops(side: SegmentEnd) -> tuple[Node, ...]:
    return tuple(loop for group in side.groups for loop in group.loops)


def _pairs(facts: UnitFacts) -> Iterator[tuple[Leaf, Leaf]]:
    """The sends and receives of a unit whose messages match no others of the program."""
    messages = facts.once(Messages)
    plain = facts.scope_of_these_sizes
    ends: dict[int, dict[Way, list[tuple[Leaf, Expr]]]] = {}
    for leaf, call in messages.own_calls():
        for envelope in (envelopes_of(call) or ()) if call.queue is None else ():
            tag = constant(envelope.tag, plain)
            if tag is not None:
                ways = ends.setdefault(tag, {Way.OUT: [], Way.IN: []})
                ways[envelope.way].append((leaf, envelope.tag))
    sole = facts.once(SolePair)
    for ways in ends.values():
        if all(len(own) == 1 for own in ways.values()):
            ((send, wanted),), ((receive, _),) = ways[Way.OUT], ways[Way.IN]
            if sole.why_not((wanted,), (send, receive)) is None:
                yield send, receive
