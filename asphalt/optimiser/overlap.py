"""The inner phases of the search for one unit: from starts to departures.

All blocking operations become non-blocking, the overlap windows are filled, and an operation whose
window stays empty becomes blocking again.  ``preparation`` changes the unit so that more is found
here; ``optimise`` has the order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import GAINING, Pass
from asphalt.gain.model import Price
from asphalt.optimiser.called_transfers import transfers_of_calls
from asphalt.optimiser.dividing import divided
from asphalt.optimiser.dropped import (
    distinct,
    not_kept,
    together_not_kept,
    with_dropped,
    with_tried,
)
from asphalt.optimiser.idle_transfers import idle_transfers, with_stopped_receives
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import (
    FIXPOINT,
    LOSING,
    UNGAINED,
    Cleared,
    Done,
    Dropped,
    Optimised,
    Transfer,
)
from asphalt.optimiser.overlapped_work import overlapped_work, started
from asphalt.optimiser.phases import MOST_STEPS, PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.buffers import buffered_sends, receive_queues, redundant_stores
from asphalt.transforms.decomposition import decomposition
from asphalt.transforms.loops import branch_fission, sharing
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.new_names import REQUEST, next_number
from asphalt.transforms.rewriting.step import Phase, Transformation

_PREPARING = frozenset(one.name for one in PHASES[Phase.PREPARATION])


class Overlap:
    """The result of the inner phases for a unit in the workshop from some state on."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop

    def of(self, begin: UnitState) -> Optimised:
        """All transfers overlapped.  Collective operations whose blocks are filled or used one by
        one become messages, unless one operation overlaps with more or costs less."""
        whole, blocks = self._formed(begin, ()), self._in_blocks(begin)
        if not blocks:
            return whole
        parted = self._formed(begin, blocks)
        if self.hidden(parted) >= self.hidden(whole) and not self.loses(parted, whole):
            return parted
        prices = self.prices(whole, parted)
        steps = [
            step
            for step in decomposition.check(self.shop.facts(begin.tree))
            if isinstance(step, decomposition.Decompose)
        ]
        return with_tried(
            whole, *(not_kept(self.shop, begin.tree, Pass.DECOMPOSITION, s, prices) for s in steps)
        )

    def _in_blocks(self, begin: UnitState) -> tuple[Transfer, ...]:
        """The collective operations that can become messages, one for each block."""
        if Pass.DECOMPOSITION not in self.shop.passes:
            return ()
        return tuple(
            Transfer(part.split.line, part.split.operation, 1, part.split.assumed, part.overlaps)
            for part in decomposition.parts_of(self.shop.facts(begin.tree))
        )

    def _decomposed(self, state: UnitState, blocks: tuple[Transfer, ...]) -> UnitState:
        facts = self.shop.facts(state.tree)
        for step in decomposition.check(facts) if blocks else ():
            if isinstance(step, decomposition.Decompose) and len(step.parts) == len(blocks):
                state = self.shop.applied(state, facts, decomposition.TRANSFORMATION, step)
                return replace(state, ahead=(*state.ahead, *blocks))
        return state

    def _formed(self, begin: UnitState, blocks: tuple[Transfer, ...]) -> Optimised:
        """All transfers non-blocking that overlap with work.  Receives are posted early and sends
        leave from copies only if the copies cost less than what they hide.  ``blocks``: the
        operations that become messages."""
        ahead = self._ahead(begin)
        state, refused = self._overlapped(begin, ahead, blocks)
        if ahead and state.ahead:
            without, others = self._overlapped(begin, (), blocks)
            prices = self.shop.price(without.tree), self.shop.price(state.tree)
            if not prices[1].gains(prices[0]):
                new = state.steps[len(begin.steps) :]
                copies = [step for step in new if step.transformation == Pass.EXPANSION]
                lost = together_not_kept(self.shop, copies, prices)
                state, refused = with_dropped(without, *lost), others
        state = replace(state, split=self._with_overlapped_work(begin, state))
        return self._result(begin, state, refused)

    def _overlapped(
        self, begin: UnitState, ahead: tuple[Transfer, ...], blocks: tuple[Transfer, ...]
    ) -> tuple[UnitState, tuple[Refused, ...]]:
        """The transfers non-blocking whose windows get work, with the receives ``ahead`` posted
        early, and ``blocks`` as messages.  Where branches give work to one transfer whole and to
        another one in parts, both ways are followed to their ends."""
        left = frozenset(transfer.line for transfer in (*ahead, *blocks))
        others: dict[frozenset[int], None] = {}
        state, refused = self._settled(begin, ahead, blocks, left, others)
        for other in others:
            another, also = self._settled(begin, ahead, blocks, other, {})
            if self.shop.price(another.tree).gains(self.shop.price(state.tree)):
                state, refused = another, also
        return state, refused

    def _settled(
        self,
        begin: UnitState,
        ahead: tuple[Transfer, ...],
        blocks: tuple[Transfer, ...],
        left: frozenset[int],
        others: dict[frozenset[int], None],
    ) -> tuple[UnitState, tuple[Refused, ...]]:
        """The same, with the transfers of the lines ``left`` blocking, and those that get no work.
        ``others``: gets the lines that would be left on the ways that are not taken."""
        # where messages can be cut as they stand, no nest is divided, no send leaves from a copy
        whole = not self.shop.tilings(begin)
        while True:
            state, refused = self.split(begin, left)
            state = self.shop.closure(state, (redundant_stores.TRANSFORMATION,))
            if ahead:
                state = replace(self.shop.closure(state, (self.shop.expanding,)), ahead=ahead)
            state, other = self._widened(begin, state, PHASES[Phase.DIVISION] if whole else ())
            if other:
                others[left | other] = None
            idle = idle_transfers(self.shop, begin, state)
            if not idle:
                state = self._departed(begin, state, left) if whole else state
                return self._decomposed(state, blocks), refused
            left |= idle

    def _departed(self, begin: UnitState, state: UnitState, left: frozenset[int]) -> UnitState:
        """The sends that are still blocking leave from copies, each if the unit gains by the copy,
        or if it loses nothing by it and something waits for the send."""
        waiting = [
            Transfer(step.line, step.operation, 1, does="leaves from a copy of its buffer")
            for step in _blocking_sends(self.shop.facts(begin.tree))
            if step.line in left
        ]
        while Pass.EXPANSION in self.shop.passes and waiting and len(state.steps) < MOST_STEPS:
            facts = self.shop.facts(state.tree)
            sends = [id(step.leaf) for step in _blocking_sends(facts)]
            lost: list[Dropped] = []
            for step in self.shop.departing.check(facts):
                assert isinstance(step, buffered_sends.Depart)
                before = self.shop.price(state.tree)
                after = self.shop.price_with_copy(state.tree, step.split)
                if after is None or _departs(step, before, after):
                    more = self.shop.applied(state, facts, self.shop.departing, step)
                    after = self.shop.price(more.tree)
                prices = before, after
                if _departs(step, before, after):
                    sent = waiting.pop(min(sends.index(id(step.split.leaf)), len(waiting) - 1))
                    state = with_dropped(replace(more, ahead=(*state.ahead, sent)), *lost)
                    break
                lost.append(not_kept(self.shop, state.tree, self.shop.departing.name, step, prices))
            else:
                return with_dropped(state, *lost)
        return state

    def _ahead(self, begin: UnitState) -> tuple[Transfer, ...]:
        """The receives that are posted before their loop, and not made non-blocking."""
        if Pass.EXPANSION not in self.shop.passes or self.shop.tilings(begin):
            return ()
        does = "is posted before its loop"
        return tuple(
            Transfer(line, operation, 1, does=does)
            for step in self.shop.expanding.check(self.shop.facts(begin.tree))
            if isinstance(step, receive_queues.Expand)
            for line, operation in step.operations
        )

    def _widened(
        self, begin: UnitState, state: UnitState, dividings: Sequence[Transformation]
    ) -> tuple[UnitState, frozenset[int]]:
        """The windows filled, also with parts of what ``dividings`` divide.  With it the transfers
        that get no work in another way, if that is none of two ways in each of which a transfer
        gets work that has none in the other."""
        wide = self.shop.closure(state, PHASES[Phase.WINDOWS])
        new = wide.steps[len(state.steps) :]
        split = [step for step in new if step.transformation == Pass.FISSION]
        inner = self._innermost(state, wide, dividings) if split else None
        wide = self._all_divided(wide, dividings)
        other = frozenset[int]()
        if inner is not None:
            wide, _ = self._better(begin, state, inner, wide, split)
        if split:
            moving = (code_motion.TRANSFORMATION,)
            whole = self._all_divided(self.shop.closure(state, moving), dividings, moving)
            wide, other = self._better(begin, state, whole, wide, split)
        return self._shared(wide) if dividings else wide, other

    def _innermost(
        self, state: UnitState, wide: UnitState, dividings: Sequence[Transformation]
    ) -> UnitState | None:
        """The windows of a state filled with no branches split but the innermost ones; None: those
        of ``wide`` are."""
        filling = tuple(
            branch_fission.INNERMOST if one is branch_fission.TRANSFORMATION else one
            for one in PHASES[Phase.WINDOWS]
        )
        inner = self.shop.closure(state, filling)
        if len(inner.steps) == len(wide.steps):
            return None
        return self._all_divided(inner, dividings, filling)

    def _better(
        self,
        begin: UnitState,
        state: UnitState,
        whole: UnitState,
        wide: UnitState,
        split: Sequence[Done],
    ) -> tuple[UnitState, frozenset[int]]:
        """The better way to fill the windows of a state: with whole branches, or with those of the
        steps ``split`` in parts, if windows have more work then and no more transfers stay without,
        or if nothing else gains.  With it the transfers that stay without in the other way, if
        those of this way do not do so in that one."""
        before, *after = (self.shop.price(s.tree) for s in (state, whole, wide))
        if after[1].gains(after[0]) and not after[0].gains(before):
            return wide, frozenset()
        work = [code_motion.hidden_work(self.shop.facts(s.tree)) for s in (whole, wide)]
        idle = [idle_transfers(self.shop, begin, s) for s in (whole, wide)]
        few = [len(one) for one in idle]
        apart = idle if not idle[0] <= idle[1] and not idle[1] <= idle[0] else [frozenset()] * 2
        if few[0] > few[1] or (few[0] == few[1] and work[0] < work[1]):
            return wide, apart[0]
        lost = together_not_kept(self.shop, split, (after[0], after[1]))
        return with_dropped(whole, *lost), apart[1]

    def _all_divided(
        self,
        state: UnitState,
        dividings: Sequence[Transformation],
        filling: Sequence[Transformation] = PHASES[Phase.WINDOWS],
    ) -> UnitState:
        """The state with what gains of ``dividings``; ``filling``: what fills the windows then."""
        for dividing in dividings:
            state = divided(self.shop, state, dividing, filling)
        return state

    def _shared(self, state: UnitState) -> UnitState:
        """Nests in the window of one transfer cut into parts for later windows, each if that
        gains.  This comes last, since code motion would bring the parts together again before they
        are marked; it then finds more moves: waits past a part."""
        tried: set[tuple[str, ...]] = set()
        while Pass.SPLITTING in self.shop.passes and len(state.steps) < MOST_STEPS:
            facts = self.shop.facts(state.tree)
            steps = (f for f in sharing.check(facts) if isinstance(f, sharing.Share))
            step = next((s for s in steps if s.text not in tried), None)
            if step is None:
                break
            tried.add(step.text)
            lost = self.shop.lost_shares.get(step.around)
            if lost is None:
                made = self.shop.applied(state, facts, sharing.TRANSFORMATION, step)
                more = self.shop.closure(made, PHASES[Phase.WINDOWS])
                prices = self.shop.price(state.tree), self.shop.price(more.tree)
                if prices[1].gains(prices[0]):
                    state = more
                    continue
                lost = not_kept(self.shop, state.tree, Pass.SPLITTING, step, prices)
                self.shop.lost_shares[step.around] = lost
            state = with_dropped(state, lost)
        return state

    def split(
        self, state: UnitState, left: frozenset[int]
    ) -> tuple[UnitState, tuple[Refused, ...]]:
        """All blocking transfers made non-blocking, except those of the lines ``left``."""
        facts = self.shop.facts(state.tree)
        found = facts.once(nonblocking.check)
        refused = tuple(f for f in found if isinstance(f, Refused))
        if Pass.NONBLOCKING not in self.shop.passes:
            return state, ()
        steps = [f for f in found if isinstance(f, nonblocking.Split) and f.line not in left]
        if len(steps) > 1 and any(step.stored_before for step in steps):
            return self._split_in_turn(state, steps), refused
        split = tuple(Transfer(s.line, s.operation, len(s.sides), s.assumed) for s in steps)
        return replace(self.shop.started(state, facts, steps), split=split), refused

    def _split_in_turn(self, state: UnitState, steps: Sequence[nonblocking.Split]) -> UnitState:
        """These transfers made non-blocking one after the other: one that stores MPI_SUCCESS no
        more may be the one that another relied on, and what it relied on is read now."""
        split, given, rest = list[Transfer](), list(steps), list(steps)
        while rest:
            facts = self.shop.facts(state.tree)
            judged = nonblocking.stored_now(facts, rest)
            own = [(g, s) for g, s in zip(given, judged, strict=False) if s is not None]
            split += (Transfer(g.line, s.operation, len(s.sides), s.assumed) for g, s in own)
            now, others = [step for _, step in own], rest[len(judged) :]
            places = nonblocking.positions_after(facts, now, others)
            state, given = self.shop.started(state, facts, now), given[len(judged) :]
            facts = self.shop.facts(state.tree)
            rest = [nonblocking.moved_to(facts, *one) for one in zip(others, places, strict=True)]
        return replace(state, split=tuple(split))

    def _with_overlapped_work(self, begin: UnitState, state: UnitState) -> tuple[Transfer, ...]:
        """The new non-blocking transfers, each with the work in its window."""
        work = overlapped_work(self.shop.facts(state.tree))
        number = next_number(self.shop.facts(begin.tree), REQUEST)
        found: list[Transfer] = []
        for transfer in state.split:
            names = [f"{REQUEST}{number + n}" for n in range(transfer.messages)]
            number += transfer.messages
            own = [work[name] for name in names if name in work]
            texts = dict.fromkeys(text for one in own for text in one.texts)
            marks = self._marks(state, (line for one in own for line in one.lines))
            idle = (name for name in names if not (name in work and work[name].texts))
            waiting = tuple(idle) if texts else ()
            found.append(replace(transfer, overlaps=tuple(texts), marks=marks, waiting=waiting))
        return tuple(found)

    def _marks(self, state: UnitState, lines: Iterable[int]) -> tuple[tuple[SourceLine, str], ...]:
        """The places of work in windows, in the user's source."""
        places = (self.shop.given(self.shop.place(state.tree, line)) for line in lines)
        return tuple((place, "overlaps with it") for place in dict.fromkeys(places))

    def _own(self, begin: UnitState, state: UnitState) -> Iterator[Transfer]:
        """The operations that the program itself starts and that overlap with more work than
        before."""
        after = started(self.shop.facts(state.tree))
        for request, before in started(self.shop.facts(begin.tree)).items():
            now = after.get(request)
            if now is not None and Counter(now.overlaps) - Counter(before.overlaps):
                overlaps = tuple(dict.fromkeys(now.overlaps))
                ends = (self.shop.given(self.shop.place(begin.tree, n)) for n in before.ends)
                marks = (
                    *((place, "completes it") for place in dict.fromkeys(ends)),
                    *self._marks(state, now.lines),
                )
                one = Transfer(before.line, before.operation, 1, overlaps=overlaps, marks=marks)
                yield self.shop.placed(begin.tree, one)

    def _result(
        self, begin: UnitState, state: UnitState, refused: tuple[Refused, ...]
    ) -> Optimised:
        content = state.tree.content(self.shop.path)
        gained = any(step.transformation in GAINING for step in state.steps)
        changed = gained and content != self.shop.tree.content(self.shop.path)
        ended = FIXPOINT if set(self.shop.passes) & set(GAINING) else UNGAINED
        if len(state.steps) >= MOST_STEPS:
            ended = f"the limit of {MOST_STEPS} steps"
            changed = False
        elif changed and self.shop.price(state.tree).loses(self.shop.price(begin.tree)):
            ended = LOSING
            changed = False
            prices = self.shop.price(begin.tree), self.shop.price(state.tree)
            new = state.steps[len(begin.steps) :]
            state = with_dropped(state, *together_not_kept(self.shop, new, prices, LOSING))
        found = [self.shop.placed(begin.tree, t) for t in (*state.split, *state.ahead)]
        if changed:
            found += (*self._own(begin, state), *transfers_of_calls(self.shop, begin, state))
        transfers = tuple(sorted(found, key=lambda t: t.line))
        return Optimised(
            self.shop.path,
            self.shop.chain[-1],
            content if changed else None,
            state.steps if changed else (),
            transfers if changed else (),
            refused,
            ended,
            cleared=self._cleared(begin, state) if changed else (),
            trees=state.trees if changed else (),
            dropped=distinct(state.dropped, state.steps if changed else ()),
            beside=dict(self.shop.known.beside(state.tree)) if changed else {},
        )

    def _cleared(self, begin: UnitState, state: UnitState) -> tuple[Cleared, ...]:
        """The stores that are dropped, with their places in the user's source."""
        steps = redundant_stores.check(self.shop.facts(begin.tree)) if state.cleared else ()
        return tuple(
            Cleared(place.line, step.receive[1], step.buffer, place.path)
            for step in steps
            if isinstance(step, redundant_stores.Stored)
            for place in (self.shop.place(begin.tree, step.line),)
            if place in state.cleared
        )

    def priced(self, found: Optimised) -> Optimised:
        """The result for the unit, with the gain of each step, and only the last tree."""
        names = self.shop.model.names
        steps: list[Done] = []
        for step, trees in zip(found.steps, pairwise((self.shop.tree, *found.trees)), strict=True):
            if step.transformation not in _PREPARING and trees[0] is not trees[1]:
                before, after = map(self.shop.price, trees)
                step = replace(step, gained=dict(zip(names, after.saved(before), strict=True)))
            steps.append(step)
        transfers = with_stopped_receives(self.shop, found)
        return replace(found, steps=tuple(steps), transfers=transfers, trees=found.trees[-1:])

    def is_more(self, more: Optimised, found: Optimised) -> bool:
        """Whether more work overlaps with transfers in ``more``, and the unit loses nothing by
        that."""
        return self.hidden(more) > self.hidden(found) and not self.loses(more, found)

    def gains(self, more: Optimised, found: Optimised) -> bool:
        """Whether the unit takes less time with the steps of ``more``."""
        return self._price(more).gains(self._price(found))

    def loses(self, more: Optimised, found: Optimised) -> bool:
        """Whether the unit takes longer with the steps of ``more``."""
        return self._price(more).loses(self._price(found))

    def prices(self, before: Optimised, tried: Optimised) -> tuple[Price, Price]:
        """The costs of the unit before and with some steps."""
        return self._price(before), self._price(tried)

    def _price(self, found: Optimised) -> Price:
        return self.shop.price(self.shop.tree_of(found))

    def hidden(self, found: Optimised) -> tuple[int, int]:
        """How many transfers overlap with work, and with how much of it."""
        if found.content is None:
            return 0, 0
        facts = self.shop.facts(self.shop.tree_of(found))
        work = code_motion.hidden_work(facts) + decomposition.hidden_work(facts)
        return len(found.transfers), work


def _blocking_sends(facts: UnitFacts) -> list[nonblocking.Split]:
    """The blocking sends of a unit that can be taken apart, in source order."""
    return [step for step in facts.once(nonblocking.message_splits) if step.is_send]


def _departs(step: buffered_sends.Depart, before: Price, after: Price) -> bool:
    """Whether a send leaves from a copy, by the costs of the unit before and with it."""
    return after.gains(before) or (step.awaited and not after.loses(before))
