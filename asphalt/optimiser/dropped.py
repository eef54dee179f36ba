"""Steps that are tried and not kept: why, and what the cost model says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Price
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import SAVES_LITTLE, SAVES_NOTHING, Done, Dropped, Optimised
from asphalt.optimiser.phases import MOST_STEPS
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.rewriting.step import Step

IDLE = "it overlaps no more computation"
SLOWER = "execution would take longer"
AS_LONG = "execution would take as long as without it"
IN_TILES = "more nests are cut into tiles without it"
TOO_MANY = f"the limit of {MOST_STEPS} steps"
_NAMED = 3  # of several steps at once


def not_kept(
    shop: Workshop,
    tree: Tree,
    transformation: str,
    step: Step,
    prices: tuple[Price, Price] | None = None,
) -> Dropped:
    """A step that was found in a tree and is not kept.  ``prices``: of the unit before and with it;
    None: no window gets work by it, so its price does not matter."""
    place = shop.given(shop.place(tree, step.line))
    return _dropped(shop, transformation, step.does, place, prices)


def together_not_kept(
    shop: Workshop,
    steps: Sequence[Done],
    prices: tuple[Price, Price] | None = None,
    why: str | None = None,
) -> tuple[Dropped, ...]:
    """Steps that were applied one after the other and belong together, as one; (): there are none.
    ``why``: the reason; None: what the prices say."""
    if not steps:
        return ()
    names = ", ".join(dict.fromkeys(step.transformation for step in steps))
    told = list(dict.fromkeys(step.does for step in steps))
    more = f"; and {len(told) - _NAMED} more steps" if len(told) > _NAMED else ""
    does = "; ".join(told[:_NAMED]) + more
    found = _dropped(shop, names, does, steps[0].place, prices)
    return (with_calls(found if why is None else replace(found, why=why), steps),)


def saves_less(shop: Workshop, found: Optimised, part: float) -> bool:
    """Whether a unit is changed and saves no more than this part of its time by that.

    Where a procedure was inlined, seconds of before and after are not comparable, and it was only
    kept since it saves some; what tiles save, the judge of a unit does not see.
    """
    if found.content is None or found.tiled or any(step.call is not None for step in found.steps):
        return False
    return not shop.price(shop.tree_of(found)).is_shorter(shop.price(shop.tree), part)


def unchanged_by_all(shop: Workshop, found: Optimised) -> Optimised:
    """The result for a unit that stays as it is since all its steps save too little."""
    prices = shop.price(shop.tree), shop.price(shop.tree_of(found))
    why = SAVES_LITTLE if prices[1].is_shorter(prices[0]) else SAVES_NOTHING
    lost = together_not_kept(shop, found.steps, prices, why)
    nothing = replace(found, content=None, steps=(), transfers=(), cleared=(), beside={}, trees=())
    return replace(with_tried(nothing, *lost), ended=why)


def with_calls(dropped: Dropped, steps: Iterable[Done]) -> Dropped:
    """The step, with the calls at which procedures were inlined by some ``steps``."""
    calls = (step.call for step in steps if step.call is not None)
    return replace(dropped, calls=tuple(dict.fromkeys((*dropped.calls, *calls))))


def with_dropped(state: UnitState, *more: Dropped) -> UnitState:
    """The state, with more steps that were tried from there."""
    return replace(state, dropped=(*state.dropped, *more))


def with_tried(found: Optimised, *more: Dropped) -> Optimised:
    """Return the result for the unit with more steps that were tried for it."""
    return replace(found, dropped=distinct((*found.dropped, *more), found.steps))


def distinct(dropped: Iterable[Dropped], kept: Sequence[Done]) -> tuple[Dropped, ...]:
    """Each step once, as it was tried last, without those that were kept in the end."""
    done = {(step.transformation, step.does) for step in kept}
    last: dict[tuple[str, str], Dropped] = {}
    for one in dropped:
        key = one.transformation, one.does
        before = last.pop(key, None)
        if key not in done:
            last[key] = one if one.calls or before is None else replace(one, calls=before.calls)
    return tuple(last.values())


def _dropped(
    shop: Workshop,
    transformation: str,
    does: str,
    place: SourceLine,
    prices: tuple[Price, Price] | None,
) -> Dropped:
    if prices is None:
        return Dropped(transformation, does, place, IDLE)
    before, tried = prices
    why = SLOWER if tried.loses(before) else IDLE if tried.gains(before) else AS_LONG
    one, other = (dict(zip(shop.model.names, price.seconds, strict=True)) for price in prices)
    return Dropped(transformation, does, place, why, one, other)
