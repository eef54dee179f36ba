"""The order of things for one unit: what prepares it is tried, and kept where it brings more.

Figure 2 of Danalis et al., ICS 2009; what is asked of each way is what ``overlap`` makes of it.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.frontend.second_opinion import opinions
from asphalt.frontend.second_outline import differs
from asphalt.frontend.tree import Tree
from asphalt.gain.model import PRECISION
from asphalt.ir.tree import leaves
from asphalt.limits import HEADER
from asphalt.optimiser.order import MOST_STEPS, OPENING, PREPARING, RENAMING, TILING
from asphalt.optimiser.outcome import Optimised, Tiled, Transfer
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.workshop import State, Workshop
from asphalt.transforms.step import Step


class Driver:
    """The optimisation of one unit."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.overlap = Overlap(shop)

    def disagreement(self) -> str | None:
        """Why a unit is not touched: two units of one name, or parsers that read it differently."""
        same = [
            located
            for located in self.shop.tree.units_of(self.shop.path)
            if tuple(unit.name for unit in located.chain) == self.shop.chain
        ]
        if len(same) != 1:
            return "two units have one name"
        other = differs(self.shop.tree.index(self.shop.path), same[0].chain)
        if other is not None:
            return f"two parsers read it differently: {other}"
        unit = same[0].unit
        statements = (leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node))
        found = opinions(statements, same[0].form, self.shop.tree.file(self.shop.path).width)
        if found.disagreements:
            return f"two parsers read line {found.disagreements[0].line} differently"
        return None

    def best(self) -> Optimised:
        """The unit with all transfers split whose windows get some work.

        What prepares the unit for that, exchanges of called procedures inlined before all, is only
        kept if more transfers overlap with work by it, and more time is saved than without it.
        """
        begin = State(self.shop.tree, ())
        plain = found = self._renamed(begin, self.overlap.of(begin))
        prepared = self.shop.closure(begin, PREPARING)
        if len(prepared.steps) >= MOST_STEPS:
            return self._pipelined(plain, begin)
        if prepared.steps:
            more = self._renamed(prepared, self.overlap.of(prepared))
            longer = len(more.transfers) > len(plain.transfers)
            if longer and self._saves_more(prepared.tree, more, self.shop.tree, plain):
                found = more
        return self._pipelined(self._opened(prepared, found), prepared)

    def _opened(self, prepared: State, found: Optimised) -> Optimised:
        """The same with procedures inlined that compute what is behind receives, if that gains."""
        opened = self.shop.closure(prepared, (OPENING,))
        if opened.tree is prepared.tree:
            return found
        more = self._renamed(opened, self.overlap.of(opened))
        if more.content is None or self.overlap.hidden(more) <= self.overlap.hidden(found):
            return found
        if not self._saves_more(opened.tree, more, self.shop.tree, found):
            return found
        return more

    def _saves_more(self, one: Tree, more: Optimised, other: Tree, found: Optimised) -> bool:
        """Whether ``more`` saves more of what ``one`` costs than ``found`` does of ``other``, on a
        network, and less on none.

        The two are not compared with each other: a procedure takes the same time wherever it
        stands, but may be priced otherwise.
        """
        price = self.shop.price
        saved = price(self.shop.tree_of(more)).saved(price(one))
        before = price(self.shop.tree_of(found)).saved(price(other))
        least = [PRECISION * seconds for seconds in price(one).seconds]
        differences = [s - b for s, b in zip(saved, before, strict=True)]
        loses = any(d < -e for d, e in zip(differences, least, strict=True))
        return not loses and any(d > e for d, e in zip(differences, least, strict=True))

    def _pipelined(self, found: Optimised, prepared: State) -> Optimised:
        """The same with nests and the messages before and behind them cut into tiles, where that is
        enough work; nothing but that where more nests can be tiled so: the next rank begins
        earlier by it, while an overlapped transfer only makes this one end earlier.

        ``prepared``: where to look for nests if nothing else was gained.
        """
        after = self._tiled(found, prepared)
        nothing = replace(found, content=None, steps=(), transfers=(), tiled=(), cleared=())
        alone = self._tiled(nothing, prepared)
        return alone if len(alone.tiled) > len(after.tiled) else after

    def _tiled(self, found: Optimised, prepared: State) -> Optimised:
        begin = State(self.shop.tree, found.steps)
        if found.content is not None:
            begin = replace(begin, tree=self.shop.known.tree(found.content))
        elif not self.shop.tilings(begin):
            begin = prepared
        steps = self.shop.tilings(begin)
        while steps and len(begin.steps) < MOST_STEPS:
            step = steps[0]
            does = f"is cut into tiles along {step.along}, K and D of {step.site} in {HEADER}"
            new = (Transfer(line, operation, 1, does=does) for line, operation in step.blocking)
            placed = tuple(self.shop.placed(begin.tree, transfer) for transfer in new)
            place = self.shop.place(begin.tree, step.line)
            tiled = Tiled(step.site, place.line, step.receive.operation, step.along, place.path)
            begin = self.shop.applied(begin, self.shop.facts(begin.tree), TILING, step)
            found = replace(
                found,
                content=begin.tree.content(self.shop.path),
                steps=begin.steps,
                transfers=tuple(sorted((*found.transfers, *placed), key=lambda t: t.line)),
                tiled=(*found.tiled, tiled),
            )
            steps = self.shop.tilings(begin)
        return found

    def _renamed(self, begin: State, found: Optimised) -> Optimised:
        """The same with the buffers of some transfers renamed: one after the other, each if more
        work comes beside transfers by it; then all others at once, if that brings more."""
        if RENAMING.name not in self.shop.passes:
            return found
        while True:
            facts = self.shop.facts(begin.tree)
            steps = [step for step in RENAMING.check(facts) if isinstance(step, Step)]
            for step in steps:
                state = self.shop.applied(begin, facts, RENAMING, step)
                more = self.overlap.of(state)
                if self.overlap.is_more(more, found):
                    begin, found = state, more
                    break
            else:
                break
        if len(steps) > 1:
            more = self.overlap.of(self.shop.closure(begin, (RENAMING,)))
            if self.overlap.is_more(more, found):
                return more
        return found
