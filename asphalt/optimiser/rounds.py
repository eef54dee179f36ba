"""Rounds of the search: all phases again with what they have made, until a round finds no step.

A transformation of a later phase may enable one of an earlier phase.  For example, a branch can be
split once the send in it leaves from a copy, and a start can move past a transfer that has become
non-blocking.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.optimiser.dropped import TOO_MANY, distinct
from asphalt.optimiser.outcome import Optimised, Transfer
from asphalt.optimiser.phases import MOST_STEPS
from asphalt.optimiser.preparation import Search
from asphalt.optimiser.unit_state import Workshop

REPEATED = "further steps lead back to an earlier text"


def optimised(shop: Workshop) -> Optimised:
    """The best that the search makes of a unit, in rounds until one changes nothing."""
    found = shop.tidied(Search(shop).best())
    seen = {shop.tree.content(shop.path)}
    while found.content is not None:
        seen.add(found.content)
        again = Search(shop.after(found))
        if again.why_unchanged() is not None:
            return found
        more = again.shop.tidied(again.best())
        if more.content in (None, found.content):
            return found  # what was tried in vain with new statements is nothing to tell
        if more.content in seen:
            return replace(found, ended=REPEATED)
        if len(found.steps) + len(more.steps) >= MOST_STEPS:
            return replace(found, ended=TOO_MANY)
        found = _joined(found, more)
    return found


def _joined(found: Optimised, more: Optimised) -> Optimised:
    """What two rounds have made of a unit, as one."""
    steps = (*found.steps, *more.steps)
    return replace(
        more,
        steps=steps,
        transfers=_transfers(found.transfers, more.transfers),
        refused=found.refused,
        tiled=(*found.tiled, *more.tiled),
        cleared=tuple(dict.fromkeys((*found.cleared, *more.cleared))),
        dropped=distinct((*found.dropped, *more.dropped), steps),
    )


def _transfers(found: tuple[Transfer, ...], more: tuple[Transfer, ...]) -> tuple[Transfer, ...]:
    """The transfers of two rounds, each once, with all the work that it overlaps with."""
    all_ = list(found)
    for one in more:
        same = (n for n, other in enumerate(found) if _place(other) == _place(one))
        number = next(same, None)
        if number is None:
            all_.append(one)
        else:
            overlaps = dict.fromkeys((*all_[number].overlaps, *one.overlaps))
            marks = dict.fromkeys((*all_[number].marks, *one.marks))
            all_[number] = replace(all_[number], overlaps=tuple(overlaps), marks=tuple(marks))
    return tuple(sorted(all_, key=lambda transfer: transfer.line))


def _place(transfer: Transfer) -> tuple[str, int, str]:
    return transfer.path, transfer.line, transfer.operation
