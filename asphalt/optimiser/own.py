"""The operations that the program starts itself and that get no more work beside them, and why.

Asked of a unit as it is when all is done: what its waits meet on their way down then, what keeps
that from being split, and what was tried with it and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.analysis.verdict import Role
from asphalt.gain.told import changes_text
from asphalt.ir.tree import Leaf
from asphalt.optimiser.blocking import calls_that_stay
from asphalt.optimiser.origins import Place
from asphalt.optimiser.outcome import ENDING_IN_VAIN, Dropped, Optimised, Staying
from asphalt.optimiser.workshop import Workshop
from asphalt.transforms import inline
from asphalt.transforms.own_windows import OwnStart, OwnWindows, own_starts

_MOST = 2  # steps that were tried in vain and are told


def staying(shop: Workshop, found: Optimised) -> tuple[Staying, ...]:
    """Those of a unit in the workshop, with what became of it."""
    tree = shop.tree_of(found)
    facts = shop.facts(tree)
    told = {(one.path, one.line, one.operation) for one in found.transfers}

    def place(leaf: Leaf) -> Place:
        return shop.given(shop.place(tree, line_of(leaf)))

    def calls() -> tuple[str, ...]:
        located = shop.located(shop.first)
        return calls_that_stay(shop.analyses, located, shop.accepted)

    return tuple(
        one
        for one in staying_in(facts, shop.passes, place, calls, found.dropped)
        if (one.place.path, one.place.line, one.operation) not in told
    )


def staying_in(
    facts: UnitFacts,
    passes: Collection[str],
    place: Callable[[Leaf], Place],
    calls: Callable[[], tuple[str, ...]],
    dropped: Sequence[Dropped] = (),
    untouched: str | None = None,
) -> Iterator[Staying]:
    """All that a unit starts itself, each as if nothing came beside it.

    ``place``: where a statement stands in what the user gave.  ``calls``: why the procedure does
    not come to the places of its calls.  ``dropped``: what was tried in vain.  ``untouched``: why
    nothing of the unit is changed."""
    windows = OwnWindows(facts, passes)
    for one in own_starts(facts, windows):
        message = "no more work comes beside it" if one.beside else "no work comes beside it"
        if untouched is not None:
            message = f"nothing of its procedure is changed: {untouched}"
        elif reasons := list(_reasons(one, windows, place, calls, dropped, passes)):
            message += f": {'; '.join(reasons)}"
        marks: list[tuple[Place, Role, str]] = [
            (place(stop.head), "offending", stop.why) for stop in one.stops
        ]
        marks += [(place(end), "path", "what completes it") for end in one.ends]
        yield Staying(place(one.start), one.operation, one.code, message, tuple(marks))


def _reasons(
    one: OwnStart,
    windows: OwnWindows,
    place: Callable[[Leaf], Place],
    calls: Callable[[], tuple[str, ...]],
    dropped: Sequence[Dropped],
    passes: Collection[str],
) -> Iterator[str]:
    """What keeps more work from coming beside it, each in a clause."""
    if one.could is not None:
        what = windows.named(one.could)
        vain = [step for step in dropped if step.why in ENDING_IN_VAIN]
        tried = [step for step in vain or dropped if step.before]
        why = f": {tried[-1].why}: {_numbers(tried[-1])}" if tried else ", but not with the rest"
        yield f"{what} could{why}"
        return
    unit = windows.facts.unit
    if one.leaves_unit and windows.is_called:
        yield f"no work stands behind it in {unit.name}"
    yield from one.why
    if one.leaves_unit and inline.NAME in passes:
        yield from calls()
    heads = {place(stop.head) for stop in one.stops}
    about = [step for step in dropped if step.place in heads and step.before]
    for step in about[-_MOST:]:
        yield f"not kept: {step.does}: {step.why}: {_numbers(step)}"


def _numbers(step: Dropped) -> str:
    return changes_text(step.before, step.tried)
