"""The outer phases of the search for one unit: preparation, buffers, iterations, tiles.

Each way to prepare the unit is judged by what ``overlap`` makes of it; ``optimise`` has the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.analysis.names.designators import symbol_named
from asphalt.config.limits import HEADER
from asphalt.config.passes import Pass
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Model, Price
from asphalt.gain.segments import usual_tile
from asphalt.gain.waves import Wave, saved
from asphalt.gain.wording import less_text
from asphalt.optimiser.dropped import (
    IN_TILES,
    TOO_MANY,
    not_kept,
    together_not_kept,
    with_calls,
    with_dropped,
    with_tried,
)
from asphalt.optimiser.outcome import (
    LESS_SAVED,
    LITTLE_SAVED,
    Done,
    Dropped,
    Optimised,
    Tiled,
    Transfer,
)
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import MOST_STEPS, PHASES
from asphalt.optimiser.searched import Contents
from asphalt.optimiser.segmenting import Segmenting
from asphalt.optimiser.unchanged_units import why_doubted, why_unchanged
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.support.asked_assumptions import recorded_questions
from asphalt.transforms.buffers.array_expansion import ExpandBuffers
from asphalt.transforms.inlining import inline, opening, versions
from asphalt.transforms.loops import rotation, sends_first
from asphalt.transforms.motion import later_receives
from asphalt.transforms.rewriting.step import Phase, Step
from asphalt.transforms.tiling import pipelining
from asphalt.transforms.tiling.wave_pipelines import Pipeline


class Waves:
    """The prices of one unit."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop

    def prices(self, state: UnitState, step: Pipeline) -> tuple[Price, Price]:
        """The costs of the unit before, and with a nest in tiles."""
        before, model = self.shop.price(state.tree), self.shop.model
        if not isinstance(model, Model):
            facts = self.shop.facts(state.tree)
            tiled = self.shop.applied(state, facts, pipelining.TRANSFORMATION, step)
            return before, self.shop.price(tiled.tree)
        wave = self._wave(state, step, model)
        gains = [saved(wave, network) for network in model.networks]
        return before, Price(tuple(b - g for b, g in zip(before.seconds, gains, strict=True)))

    def _wave(self, state: UnitState, step: Pipeline, model: Model) -> Wave:
        """The wave, with the sizes of now: the amount of its work was found with them."""
        facts = self.shop.facts(state.tree)
        plain = facts.scope_of_these_sizes
        parts = step.send.parts
        assert parts is not None
        symbol = symbol_named(parts.buffer.name, facts.scope)
        element = None if symbol is None else element_bytes(symbol, facts.scope)
        number = constant(step.trips.number.expression(), plain) or 1
        each = constant(parts.each.expression(), plain) or 1
        loops = tuple(loop for group in step.groups for loop in group.loops)
        seconds = model.seconds(state.tree, self.shop.located(state.tree))
        tile = usual_tile(number, step.amount / number)
        return Wave(number, tile, float(each * (element or 1)), seconds(loops) / number)


class Search:
    """The search for the best sequence of steps of one unit."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.overlap = Overlap(shop)
        self.segments = Segmenting(shop, self.overlap)
        self.waves = Waves(shop)

    def why_unchanged(self) -> str | None:
        """Why the unit is not changed; None: it may be."""
        shop = self.shop
        analyses, scope = shop.analyses.edited(shop.tree), shop.facts(shop.tree).scope
        return why_unchanged(analyses, shop.path, shop.chain, scope)

    def why_doubted(self) -> str | None:
        """Why it is not clear what the unit means; None: it is."""
        return why_doubted(self.shop.tree, self.shop.path, self.shop.chain)

    def best(self) -> Optimised:
        """The unit with all transfers non-blocking whose windows get some work.

        The preparation, above all the inlining of called procedures that exchange messages, is only
        kept if more transfers overlap with work by it, and if more time is saved than without it,
        or than in the called procedures as they stand.
        """
        begin = UnitState(self.shop.tree, ())
        plain = found = self._cloned(begin)
        prepared = self.shop.closure(begin, PHASES[Phase.PREPARATION])
        if len(prepared.steps) >= MOST_STEPS:
            found = self._without(plain, prepared.steps, None, TOO_MANY)
            return self.segments.of(self._pipelined(found, begin), begin)
        if prepared.steps:
            more = self._cloned(prepared)
            plain = with_tried(plain, *more.dropped)  # why nothing comes of the preparation
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
        """What became of the unit, with these steps as tried and not kept."""
        return with_tried(found, *together_not_kept(self.shop, steps, prices, why))

    def _opened(self, prepared: UnitState, found: Optimised) -> Optimised:
        """The unit with procedures inlined that compute below receives, and with the first work of
        an iteration below the receives of the one before, if that gains."""
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
        """The unit with such procedures inlined, if that gains.  ``needed``: without any, nothing
        is tried, and steps that do not gain are reported."""
        parted = versions.divided(self.shop.facts(self.shop.tree_of(found)))
        short = parted & self.shop.read_at_call
        besides = parted - short
        others = replace(opening.TRANSFORMATION, check=partial(opening.judged, besides=besides))
        opened = self.shop.closure(prepared, (others,))
        if needed and opened.tree is prepared.tree:
            return found
        more, new = self._cloned(opened), opened.steps[len(prepared.steps) :]
        if short and more.content is not None and self._saves_as_much(opened.tree, more, found):
            return more
        if more.content is None or self.overlap.hidden(more) <= self.overlap.hidden(found):
            return self._without(found, new) if needed else found
        why = self._saves_less(opened.tree, more, found)
        if why is None:
            return more
        return self._without(found, new, None, why) if needed else found

    def _saves_as_much(self, one: Tree, more: Optimised, found: Optimised) -> bool:
        """Whether ``more`` saves as much of what ``one`` costs as ``found`` saves of what the unit
        did, but for a little."""
        before = self.shop.price(self.shop.tree_of(found)).saved(self.shop.price(self.shop.tree))
        after = self.shop.price(self.shop.tree_of(more)).saved(self.shop.price(one))
        return all(now >= then - 0.05 * abs(then) for now, then in zip(after, before, strict=True))

    def _taken_later(self, found: Optimised) -> Optimised:
        """The unit with messages taken from queues below the first work of the next iteration,
        wherever that gains.

        An estimate is compared with that of the branches already split: the same statements are
        executed, but the price may differ, since in the model ranks wait for each other behind each
        branch.
        """
        if found.content is None or not {Pass.PEELING, Pass.MOTION} <= set(self.shop.passes):
            return found
        begin = UnitState(self.shop.tree_of(found), found.steps, found.trees)
        for loop in sends_first.loops(self.shop.facts(begin.tree)):
            for apart, later in self._taking_later(begin, loop):
                before = begin if self.shop.model.executes else apart
                prices = self.shop.price(before.tree), self.shop.price(later.tree)
                if prices[1].gains(prices[0]):
                    content = later.tree.content(self.shop.path)
                    more = replace(found, content=content, steps=later.steps, trees=later.trees)
                    more = replace(more, beside=dict(self.shop.known.beside(later.tree)))
                    return self._taken_later(more)
                found = self._without(found, later.steps[len(begin.steps) :], prices)
        return found

    def _taking_later(
        self, begin: UnitState, loop: tuple[int, ...]
    ) -> Iterator[tuple[UnitState, UnitState]]:
        """The ways to take what a loop takes from queues below the first work of its next
        iteration, with as much of that work as possible first; each with the state before, in which
        its branches are split."""
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
        """Why ``more`` does not save more of what ``one`` costs than ``found`` saves of what the
        unit did; None: it saves more on a network, and less on none.

        Their seconds are not compared with each other: a procedure takes the same time wherever it
        stands, but may be priced otherwise.
        """
        before = self.shop.price(self.shop.tree_of(found)).saved(self.shop.price(self.shop.tree))
        return self._less_than(before, one, more)

    def _less_than(self, before: tuple[float, ...], one: Tree, more: Optimised) -> str | None:
        """Why ``more`` does not save more of what ``one`` costs than these seconds; None: it saves
        more on a network and less on none, and not only a little beside that, since it is more to
        read."""
        price = self.shop.price(one)
        saved = self.shop.price(self.shop.tree_of(more)).saved(price)
        if price.is_worth(before, saved):
            return None
        less = any(now < then for now, then in zip(saved, before, strict=True))
        why = LITTLE_SAVED if not less and sum(saved) > sum(before) else LESS_SAVED
        return f"{why}: {less_text(self.shop.model.names, saved, before)}"

    def _saved_apart(self) -> tuple[float, ...]:
        """The seconds that the unit saves if the procedures that could be inlined are not, and are
        optimised themselves."""
        tree = self.shop.tree
        steps = inline.check(self.shop.facts(tree)) if Pass.INLINE in self.shop.passes else ()
        callees = [step.plan.callee for step in steps if isinstance(step, inline.Inline)]
        chains = dict.fromkeys((c.path, tuple(u.name for u in c.chain)) for c in callees)
        for path, chain in chains:
            contents = self._contents_apart(tree, path, chain)
            tree = tree.edited(contents) if contents else tree
        if tree is self.shop.tree:
            return tuple(0.0 for _ in self.shop.model.names)
        price = self.shop.model.price(tree, self.shop.located(tree))
        return price.saved(self.shop.price(self.shop.tree))

    def _contents_apart(self, tree: Tree, path: str, chain: tuple[str, ...]) -> Contents:
        """What files contain when a called procedure is optimised by itself; {}: what they do."""
        searched = self.shop.context.searched
        known = None if searched is None else searched.text(tree, (path, chain))
        if known is not None:
            return known
        with recorded_questions() as asked:
            shop, found = self._apart(tree, path, chain)
            contents: Contents = {}
            if found is not None and found.content is not None:
                doubted = Search(shop).why_doubted() is not None
                contents = {} if doubted else {**found.beside, path: found.content}
        if searched is not None:
            searched.note_text(tree, (path, chain), contents, asked)
        return contents

    def _apart(
        self, tree: Tree, path: str, chain: tuple[str, ...]
    ) -> tuple[Workshop, Optimised | None]:
        """What becomes of a called procedure by itself, with its workshop; None: it is not changed,
        whatever could become of it."""
        searched = self.shop.context.searched
        known = None if searched is None else searched.of(tree, (path, chain))
        if known is not None:
            return known
        driver = Search(self.shop.for_unit(tree, path, chain))
        with recorded_questions() as asked:
            found = driver.best() if driver.why_unchanged() is None else None
        driver.shop.known.forget()
        if searched is not None:
            searched.add(driver.shop, found, asked)
        return driver.shop, found

    def _pipelined(self, found: Optimised, prepared: UnitState) -> Optimised:
        """The unit with nests, and the messages before and behind them, cut into tiles where that
        is enough work.

        Where more nests can be tiled in the unit without the other steps, those are not kept: with
        tiles the next rank begins earlier, while an overlapped transfer only lets this rank end
        earlier.  ``prepared``: where to look for nests if nothing else gained.
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
            begin = replace(begin, tree=self.shop.tree_of(found))
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
                found = with_tried(found, lost)
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
                beside=dict(self.shop.known.beside(begin.tree)),
                steps=begin.steps,
                trees=(begin.tree,),
                transfers=tuple(sorted((*found.transfers, *placed), key=lambda t: t.line)),
                tiled=(*found.tiled, tiled),
            )
        return found

    def _cloned(self, begin: UnitState) -> Optimised:
        """All transfers overlapped, with buffers renamed and expanded where that gains."""
        found = self._with_buffers(begin)
        calls = [step for step in begin.steps if step.call is not None]
        if not calls:
            return found
        return replace(found, dropped=tuple(with_calls(one, calls) for one in found.dropped))

    def _with_buffers(self, begin: UnitState) -> Optimised:
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
        """The unit with buffers for each iteration of a loop, which its waits may then leave, if
        the unit takes less time, or no more and more work overlaps.

        Transfers that share a buffer get one each first, or their waits would keep each other in
        the loop.
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
        return with_dropped(state, *lost), with_tried(found, *lost)

    def _renamed(self, begin: UnitState, found: Optimised) -> tuple[UnitState, Optimised]:
        """The state with the buffers of some transfers renamed, and what becomes of it.  Buffers
        are renamed one after the other, each if more work overlaps by it; then all others at once,
        if that helps."""
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
        begin, found = with_dropped(begin, *lost), with_tried(found, *lost)
        if len(steps) > 1:
            state = self.shop.closure(begin, (self.shop.renaming,))
            more = self.overlap.of(state)
            if self.overlap.is_more(more, found):
                return state, more
        return begin, found
