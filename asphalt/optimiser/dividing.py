"""Waits, nests and calls divided, wherever the window of a transfer gets more work by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.symbol import Identity
from asphalt.analysis.verdicts.splitting_codes import ORDER, SHAPE
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Price
from asphalt.optimiser.dropped import not_kept, with_dropped
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Dropped
from asphalt.optimiser.phases import MOST_STEPS
from asphalt.optimiser.text_states import FoundSteps
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.inlining.versions import Versions, deciding
from asphalt.transforms.motion.windows import work_in_windows
from asphalt.transforms.rewriting.step import Found, Transformation, Trial

_BY_VALUES = (ORDER, SHAPE)  # what values of constants may lift


def divided(
    shop: Workshop,
    state: UnitState,
    dividing: Transformation,
    filling: Sequence[Transformation],
) -> UnitState:
    """The state with what one transformation divides to some gain; ``filling``: what fills the
    windows then.  Of several ways to divide the same, the best one is kept."""
    tried: set[tuple[str, ...]] = set()
    while dividing.name in shop.passes and len(state.steps) < MOST_STEPS:
        facts = shop.facts(state.tree)
        found = tuple(facts.once(FoundSteps).of(dividing))
        _note_whole(shop, state.tree, dividing, found)
        new = (f for f in found if isinstance(f, Trial) and shop.wants(f, facts))
        steps = [step for step in new if step.text not in tried]
        if not steps:
            break
        same = [step for step in steps if step.about == steps[0].about]
        tried |= {step.text for step in same}
        state = _best(shop, state, facts, dividing, filling, same)
    return state


def _note_whole(
    shop: Workshop, tree: Tree, dividing: Transformation, found: Iterable[Found]
) -> None:
    """Record what keeps nests of a tree from being divided."""
    for one in found:
        if isinstance(one, Refused) and one.span is not None:
            place = shop.given(shop.place(tree, one.span.first))
            shop.whole[place] = one
            key = place, dividing
            if one.code in _BY_VALUES:
                shop.undivided[key] = tree
            else:
                shop.undivided.pop(key, None)


def divisible(shop: Workshop, constants: frozenset[Identity]) -> frozenset[SourceLine]:
    """The nests that stayed whole for what is not known, of those that may be divided by the values
    of some constants, by their place in the user's source."""
    probe = shop.with_constants(constants)
    probe.origins = shop.origins  # of the statements of these trees
    found: set[SourceLine] = set()
    for tree, dividing in {(tree, one): None for (_, one), tree in shop.undivided.items()}:
        refused = (one for one in dividing.check(probe.facts(tree)) if isinstance(one, Refused))
        still = {
            shop.given(shop.place(tree, one.span.first))
            for one in refused
            if one.span is not None and one.code in _BY_VALUES
        }
        own = {place for (place, by), at in shop.undivided.items() if (at, by) == (tree, dividing)}
        found |= own - still
    probe.known.forget()
    return frozenset(found)


def _best(
    shop: Workshop,
    state: UnitState,
    facts: UnitFacts,
    dividing: Transformation,
    filling: Sequence[Transformation],
    steps: Sequence[Trial],
) -> UnitState:
    """The state with the best of these steps, if one is kept."""
    few = _deciding(steps)
    tried = [_tried(shop, state, facts, dividing, filling, step) for step in few]
    if few and not any(filled for _, filled in tried):
        for step in steps:
            shop.note_tried(step)
        name, tree = dividing.name, state.tree
        return with_dropped(state, *(not_kept(shop, tree, name, step) for step in steps))
    best: UnitState | None = None
    for step in steps:
        more, lost = _filled(shop, state, facts, dividing, filling, step)
        state = with_dropped(state, *lost)
        if best is None or (more is not None and _is_less(shop, more, best)):
            best = more
    return best or state


def _deciding(steps: Sequence[Trial]) -> list[Trial]:
    """A few of these steps that decide whether any of them gives a window more work; []: each of
    them has to be tried."""
    ways = [step for step in steps if isinstance(step, Versions)]
    few = deciding(ways) if len(ways) == len(steps) else []
    return [*few] if len(few) < len(steps) else []


def _is_less(shop: Workshop, one: UnitState, other: UnitState) -> bool:
    return shop.price(one.tree).gains(shop.price(other.tree))


def _filled(
    shop: Workshop,
    state: UnitState,
    facts: UnitFacts,
    dividing: Transformation,
    filling: Sequence[Transformation],
    step: Trial,
) -> tuple[UnitState | None, tuple[Dropped, ...]]:
    """The state with one step and filled windows, if one of these gets more work by it; or what is
    not kept, with the reason."""
    more, filled = _tried(shop, state, facts, dividing, filling, step)
    prices = (shop.price(state.tree), shop.price(more.tree)) if filled else None
    if prices is not None and _is_as_good(step, *prices):
        return more, ()
    return None, (not_kept(shop, state.tree, dividing.name, step, prices),)


def _tried(
    shop: Workshop,
    state: UnitState,
    facts: UnitFacts,
    dividing: Transformation,
    filling: Sequence[Transformation],
    step: Trial,
) -> tuple[UnitState, bool]:
    """The state with one step and filled windows, and whether one of these gets more work by it."""
    before = work_in_windows(facts)
    more = shop.closure(shop.applied(state, facts, dividing, step), filling)
    after = work_in_windows(shop.facts(more.tree))
    return more, any(count > before.get(request, 0) for request, count in after.items())


def _is_as_good(step: Trial, before: Price, after: Price) -> bool:
    """Whether a step that divides statements, which is more to read, is worth that."""
    return not (after.loses(before) if step.starts_receives else after.is_longer(before))
