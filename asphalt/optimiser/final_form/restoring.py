"""Procedures that the search has inlined in vain, called again (``restored_calls``)."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.inlining.plan import Inlining
from asphalt.optimiser.dropped import unchanged_by_all
from asphalt.optimiser.final_form.written import NewCalls, came_from, written
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Done, Optimised
from asphalt.optimiser.unit_state import Workshop
from asphalt.transforms.inlining.restored_calls import restored


def with_calls_again(shop: Workshop, found: Optimised) -> tuple[Optimised, tuple[Inlining, ...]]:
    """The result for the unit, with calls of the procedures of which no step has changed or moved a
    statement; and the inlining that is undone."""
    if found.content is None or not any(step.call for step in found.steps):
        return found, ()
    tree = shop.tree_of(found)
    made = restored(shop.facts(tree), shop.facts(shop.first), came_from(shop, tree))
    if made is None:
        return found, ()
    new = written(shop, found, NewCalls(made.unit, made.plans, made.lines))
    if new is None:
        return found, ()
    if new.content == shop.first.content(shop.path):
        return unchanged_by_all(shop, found), ()
    places = {
        (shop.given(SourceLine(shop.path, line)), path, name) for line, path, name in made.calls
    }

    def is_undone(step: Done) -> bool:
        call = step.call
        return call is not None and (call.place, call.path, call.unit) in places

    steps = tuple(step for step in new.steps if not is_undone(step))
    return replace(new, steps=steps), made.plans
