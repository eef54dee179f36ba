"""The operations that the program starts itself and that get no more work beside them, and why.

Asked of a unit as it is when all is done: what its waits meet on their way down then, what keeps
that from being split, and what was tried with it and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.verdicts.verdict import Role
from asphalt.config.passes import Pass
from asphalt.ir.tree import Leaf
from asphalt.optimiser.blocking import NOT_BROUGHT, calls_that_stay
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Optimised, Staying, Tried
from asphalt.optimiser.program_windows import OwnStart, OwnWindows, own_starts
from asphalt.optimiser.unit_state import Workshop

_MOST = 2  # steps that were tried in vain with a nest and are told
_NOTHING = Tried()


def staying(shop: Workshop, found: Optimised) -> tuple[Staying, ...]:
    """Those of a unit in the workshop, with what became of it."""
    tree = shop.tree_of(found)
    facts = shop.facts(tree)
    told = {(one.path, one.line, one.operation) for one in found.transfers}

    def place(leaf: Leaf) -> SourceLine:
        return shop.given(shop.place(tree, line_of(leaf)))

    def calls() -> tuple[str, ...]:
        located = shop.located(shop.first)
        return calls_that_stay(shop.analyses, located, shop.accepted)

    return tuple(
        one
        for one in staying_in(facts, shop.passes, place, calls, Tried(found.dropped))
        if (one.place.path, one.place.line, one.operation) not in told
    )


def staying_in(
    facts: UnitFacts,
    passes: Collection[str],
    place: Callable[[Leaf], SourceLine],
    calls: Callable[[], tuple[str, ...]],
    tried: Tried = _NOTHING,
    untouched: str | None = None,
) -> Iterator[Staying]:
    """All that a unit starts itself, each as if nothing came beside it.

    ``place``: where a statement stands in what the user gave.  ``calls``: why the procedure does
    not come to the places of its calls.  ``tried``: what was tried in vain.  ``untouched``: why
    nothing of the unit is changed."""
    windows = OwnWindows(facts, passes)
    for one in own_starts(facts, windows):
        message = "no more work comes beside it" if one.beside else "no work comes beside it"
        if untouched is not None:
            message = f"nothing of its procedure is changed: {untouched}"
        elif reasons := list(_reasons(one, windows, place, calls, tried, passes)):
            message += f": {'; '.join(reasons)}"
        marks: list[tuple[SourceLine, Role, str]] = [
            (place(stop.head), "offending", stop.why) for stop in one.stops
        ]
        marks += [(place(end), "path", "what completes it") for end in one.ends]
        yield Staying(place(one.start), one.operation, one.code, message, tuple(marks))


def _reasons(
    one: OwnStart,
    windows: OwnWindows,
    place: Callable[[Leaf], SourceLine],
    calls: Callable[[], tuple[str, ...]],
    tried: Tried,
    passes: Collection[str],
) -> Iterator[str]:
    """What keeps more work from coming beside it, each in a clause."""
    if one.could is not None:
        what = windows.named(one.could)
        why = NOT_BROUGHT if tried.ending is None else f"could, but {tried.ending.numbers}"
        yield f"{what} {why}"
        return
    unit = windows.facts.unit
    if one.leaves_unit and windows.is_called:
        yield f"no work stands behind it in {unit.name}"
    yield from one.why
    if one.leaves_unit and Pass.INLINE in passes:
        yield from calls()
    heads = dict.fromkeys(place(stop.head) for stop in one.stops)
    for head in heads:
        yield from islice(tried.about(head), _MOST)
