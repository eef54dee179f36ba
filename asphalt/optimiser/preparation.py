"""The outer phases of the search for one unit: preparation, buffers, iterations, tiles.

Each way to prepare the unit is judged by what ``overlap`` makes of it; ``optimise`` has the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from asphalt.config.limits import HEADER
from asphalt.config.passes import Pass
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Price
from asphalt.gain.wording import less_text
from asphalt.optimiser.dropped import (
    IN_TILES,
    LESS_SAVED,
    TOO_MANY,
    not_kept,
    together_not_kept,
    told_with,
    with_dropped,
)
from asphalt.optimiser.outcome import Done, Dropped, Optimised, Tiled, Transfer
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import MOST_STEPS, PHASES
from asphalt.optimiser.segmenting import Segmenting
from asphalt.optimiser.unchanged_units import why_unchanged
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.optimiser.waves import Waves
from asphalt.transforms.buffers.array_expansion import ExpandBuffers
from asphalt.transforms.inlining import inline, opening
from asphalt.transforms.loops import rotation, sends_first
from asphalt.transforms.motion import later_receives
from asphalt.transforms.rewriting.step import Phase, Step
from asphalt.transforms.tiling import pipelining


class Driver:
    """The optimisation of one unit."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.overlap = Overlap(shop)
        self.segments = Segmenting(shop, self.overlap)
        self.waves = Waves(shop)

    def why_unchanged(self) -> str | None:
        """Why the unit is not changed; None: it may be."""
        shop = self.shop
        return why_unchanged(shop.tree, shop.path, shop.chain, shop.facts(shop.tree).scope)

    def best(self) -> Optimised:
        """The unit with all transfers split whose windows get some work.

        What prepares the unit for that, exchanges of called procedures inlined before all, is only
        kept if more transfers overlap with work by it, and more time is saved than without it, or
        than in the called procedures as they stand.
        """
        begin = UnitState(self.shop.tree, ())
        plain = found = self._cloned(begin)
        prepared = self.shop.closure(begin, PHASES[Phase.PREPARATION])
        if len(prepared.steps) >= MOST_STEPS:
            found = self._without(plain, prepared.steps, None, TOO_MANY)
            return self.segments.of(self._pipelined(found, begin), begin)
        if prepared.steps:
            more = self._cloned(prepared)
            plain = told_with(plain, *more.dropped)  # why nothing comes of the preparation
            if len(more.transfers) <= len(plain.transfers):
                found = self._without(plain, prepared.steps)
            else:
                why = self._saves_less(prepared.tree, more, plain)
                why = why or self._less_than(self._saved_apart(), prepared.tree, more)
                found = more if why is None else self._without(plain, prepared.steps, None, why)
        found = self._taken_later(self._opened(prepared, found))
        return self.segments.of(self._pipelined(found, prepared), prepared)

    def _without(
        self,
        found: Optimised,
        steps: Sequence[Done],
        prices: tuple[Price, Price] | None = None,
        why: str | None = None,
    ) -> Optimised:
        """The same, which tells of these steps that they are not kept."""
        return told_with(found, *together_not_kept(self.shop, steps, prices, why))

    def _opened(self, prepared: UnitState, found: Optimised) -> Optimised:
        """The same with procedures inlined that compute what is behind receives, and with the
        first work of an iteration behind the receives of the one before, if that gains."""
        rotated = self.shop.closure(prepared, (rotation.TRANSFORMATION,))
        if rotated.tree is not prepared.tree:
            more = self._with_opened(rotated, found)
            facts = self.shop.facts(self.shop.tree_of(more))
            if more is not found and rotation.is_used(facts):
                return more
            found = self._without(found, rotated.steps[len(prepared.steps) :])
        return self._with_opened(prepared, found, needed=True)

    def _with_opened(
        self, prepared: UnitState, found: Optimised, *, needed: bool = False
    ) -> Optimised:
        """The same with such procedures inlined, if that gains; ``needed``: if there are none, it
        is not tried, and if it does not gain, it is told."""
        opened = self.shop.closure(prepared, (opening.TRANSFORMATION,))
        if needed and opened.tree is prepared.tree:
            return found
        more, new = self._cloned(opened), opened.steps[len(prepared.steps) :]
        if more.content is None or self.overlap.hidden(more) <= self.overlap.hidden(found):
            return self._without(found, new) if needed else found
        why = self._saves_less(opened.tree, more, found)
        if why is None:
            return more
        return self._without(found, new, None, why) if needed else found

    def _taken_later(self, found: Optimised) -> Optimised:
        """The same with what iterations take from queues behind the first work of the next ones,
        wherever that gains.

        An estimate is compared with that of the branches already split: what is executed does not
        change by that, but the price may, since ranks are taken to wait for each other behind each
        branch.
        """
        if found.content is None or not {Pass.PEELING, Pass.MOTION} <= set(self.shop.passes):
            return found
        begin = UnitState(self.shop.known.tree(found.content), found.steps, found.trees)
        for loop in sends_first.loops(self.shop.facts(begin.tree)):
            for apart, later in self._taking_later(begin, loop):
                before = begin if self.shop.model.executes else apart
                prices = self.shop.price(before.tree), self.shop.price(later.tree)
                if prices[1].gains(prices[0]):
                    content = later.tree.content(self.shop.path)
                    more = replace(found, content=content, steps=later.steps, trees=later.trees)
                    return self._taken_later(more)
                found = self._without(found, later.steps[len(begin.steps) :], prices)
        return found

    def _taking_later(
        self, begin: UnitState, loop: tuple[int, ...]
    ) -> Iterator[tuple[UnitState, UnitState]]:
        """What a loop takes from queues behind the first work of its next iteration, with as much
        of that work as possible first; with the state before, where its branches are split."""
        parting = replace(sends_first.TRANSFORMATION, check=partial(sends_first.check, loop=loop))
        apart = self.shop.closure(begin, (parting,))
        facts = self.shop.facts(apart.tree)
        for step in rotation.before_takes(facts):
            assert isinstance(step, rotation.Rotate)
            if (*step.path, step.position) == loop:
                turned = self.shop.applied(apart, facts, rotation.BEFORE_TAKES, step)
                later = self.shop.closure(turned, (later_receives.TRANSFORMATION,))
                if later.tree is not turned.tree:
                    yield apart, later

    def _saves_less(self, one: Tree, more: Optimised, found: Optimised) -> str | None:
        """Why ``more`` does not save more of what ``one`` costs than ``found`` does of what the
        unit did: on a network, and less on none; None: it does.

        The two are not compared with each other: a procedure takes the same time wherever it
        stands, but may be priced otherwise.
        """
        before = self.shop.price(self.shop.tree_of(found)).saved(self.shop.price(self.shop.tree))
        return self._less_than(before, one, more)

    def _less_than(self, before: tuple[float, ...], one: Tree, more: Optimised) -> str | None:
        """Why ``more`` does not save more of what ``one`` costs than these seconds; None: it does,
        on a network, and less on none, beyond what is little beside that: it is more to read."""
        price = self.shop.price(one)
        saved = self.shop.price(self.shop.tree_of(more)).saved(price)
        if price.is_worth(before, saved):
            return None
        return f"{LESS_SAVED}: {less_text(self.shop.model.names, saved, before)}"

    def _saved_apart(self) -> tuple[float, ...]:
        """The seconds that the unit saves where the procedures that could be inlined stay, and are
        optimised themselves."""
        tree = self.shop.tree
        steps = inline.check(self.shop.facts(tree)) if Pass.INLINE in self.shop.passes else ()
        callees = [step.plan.callee for step in steps if isinstance(step, inline.Inline)]
        chains = dict.fromkeys((c.path, tuple(u.name for u in c.chain)) for c in callees)
        for path, chain in chains:
            driver = Driver(self.shop.for_unit(tree, path, chain))
            found = driver.best() if driver.why_unchanged() is None else None
            if found is not None and found.content is not None:
                tree = tree.edited({path: found.content})
        if tree is self.shop.tree:
            return tuple(0.0 for _ in self.shop.model.names)
        price = self.shop.model.price(tree, self.shop.located(tree))
        return price.saved(self.shop.price(self.shop.tree))

    def _pipelined(self, found: Optimised, prepared: UnitState) -> Optimised:
        """The same with nests and the messages before and behind them cut into tiles, where that is
        enough work; nothing but that where more nests can be tiled so: the next rank begins
        earlier by it, while an overlapped transfer only makes this one end earlier.

        ``prepared``: where to look for nests if nothing else was gained.
        """
        found = self.overlap.priced(found)
        after = self._tiled(found, prepared)
        nothing = replace(found, content=None, steps=(), transfers=(), tiled=(), cleared=())
        alone = self._tiled(nothing, prepared)
        if len(alone.tiled) <= len(after.tiled):
            return after
        return self._without(alone, found.steps, None, IN_TILES) if found.steps else alone

    def _tiled(self, found: Optimised, prepared: UnitState) -> Optimised:
        begin = UnitState(self.shop.tree, found.steps)
        if found.content is not None:
            begin = replace(begin, tree=self.shop.known.tree(found.content))
        elif not self.shop.tilings(begin):
            begin = prepared
        tried: set[str] = set()
        while len(begin.steps) < MOST_STEPS:
            steps = (s for s in self.shop.tilings(begin) if s.does not in tried)
            step = next(steps, None)
            if step is None:
                break
            prices = self.waves.prices(begin, step)
            if not prices[1].gains(prices[0]):
                tried.add(step.does)
                lost = not_kept(self.shop, begin.tree, Pass.PIPELINING, step, prices)
                found = told_with(found, lost)
                continue
            does = f"is cut into tiles along {step.along}, K and D of {step.site} in {HEADER}"
            new = (Transfer(line, operation, 1, does=does) for line, operation in step.blocking)
            placed = tuple(self.shop.placed(begin.tree, transfer) for transfer in new)
            place = self.shop.place(begin.tree, step.line)
            tiled = Tiled(step.site, place.line, step.receive.operation, step.along, place.path)
            facts = self.shop.facts(begin.tree)
            begin = self.shop.applied(begin, facts, pipelining.TRANSFORMATION, step)
            gained = dict(zip(self.shop.model.names, prices[1].saved(prices[0]), strict=True))
            begin = replace(
                begin, steps=(*begin.steps[:-1], replace(begin.steps[-1], gained=gained))
            )
            found = replace(
                found,
                content=begin.tree.content(self.shop.path),
                steps=begin.steps,
                trees=(begin.tree,),
                transfers=tuple(sorted((*found.transfers, *placed), key=lambda t: t.line)),
                tiled=(*found.tiled, tiled),
            )
        return found

    def _cloned(self, begin: UnitState) -> Optimised:
        """All transfers overlapped, with buffers renamed and expanded where that is worth it."""
        state, found = self._renamed(begin, self.overlap.of(begin))
        tried: set[tuple[int, ...]] = set()
        while Pass.EXPANSION in self.shop.passes:
            step = next((s for s in self._expansions(state) if s.place not in tried), None)
            if step is None:
                break
            tried.add(step.place)
            state, found = self._expanded(state, found, step)
        return found

    def _expansions(self, state: UnitState) -> Iterator[ExpandBuffers]:
        """The loops whose iterations can have message buffers of their own."""
        facts = self.shop.facts(state.tree)
        return (s for s in self.shop.cloning.check(facts) if isinstance(s, ExpandBuffers))

    def _expanded(
        self, state: UnitState, found: Optimised, step: ExpandBuffers
    ) -> tuple[UnitState, Optimised]:
        """The same with buffers for each iteration of a loop, which its waits may leave then, if
        the unit takes less time with them, or no more and has more work beside transfers.

        First, each of the transfers that share a buffer has one of its own, or their waits would
        keep each other in the loop.
        """
        renamed = self.shop.closure(state, (self.shop.renaming,))
        lost: list[Dropped] = []
        for begin in (state,) if renamed.tree is state.tree else (renamed, state):
            for one in self._expansions(begin):
                if one.place == step.place:
                    facts = self.shop.facts(begin.tree)
                    made = self.shop.applied(begin, facts, self.shop.cloning, one)
                    more = self.overlap.of(made)
                    if self.overlap.gains(more, found) or self.overlap.is_more(more, found):
                        return made, more
                    prices = self.overlap.prices(found, more)
                    lost.append(not_kept(self.shop, begin.tree, Pass.EXPANSION, one, prices))
        return with_dropped(state, *lost), told_with(found, *lost)

    def _renamed(self, begin: UnitState, found: Optimised) -> tuple[UnitState, Optimised]:
        """The same with the buffers of some transfers renamed: one after the other, each if more
        work comes beside transfers by it; then all others at once, if that brings more.  First,
        what it was made from."""
        if Pass.RENAMING not in self.shop.passes:
            return begin, found
        while True:
            lost: list[Dropped] = []
            facts = self.shop.facts(begin.tree)
            steps = [step for step in self.shop.renaming.check(facts) if isinstance(step, Step)]
            for step in steps:
                state = self.shop.applied(begin, facts, self.shop.renaming, step)
                more = self.overlap.of(state)
                if self.overlap.is_more(more, found):
                    begin, found = state, more
                    break
                prices = self.overlap.prices(found, more)
                lost.append(not_kept(self.shop, begin.tree, Pass.RENAMING, step, prices))
            else:
                break
        begin, found = with_dropped(begin, *lost), told_with(found, *lost)
        if len(steps) > 1:
            state = self.shop.closure(begin, (self.shop.renaming,))
            more = self.overlap.of(state)
            if self.overlap.is_more(more, found):
                return state, more
        return begin, found
