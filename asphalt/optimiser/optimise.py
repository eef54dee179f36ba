"""The optimiser: transformations of one program unit, until none of them finds another step.

After Danalis et al., ICS 2009, figure 2.  ``phases`` is the table of all transformations, phase by
phase; each is a module of ``transforms`` that shows the Fortran before and after.  asphalt unparses
the unit after every step, or after several that do not meet, reads it again and analyses it anew,
so each step is proved for a text that stood there.  What it searches for one unit is this, from the
outside in:

*Exchanges* (``first_steps``): leave out those that repeat an earlier one.

*Rounds* (``optimise``): all of the following, again and again with what came of it, until a round
changes nothing.

``preparation.Search.best``:

    1. *preparation*: unroll loops that only communicate, inline procedures that exchange messages,
       decide constant branches.  Compare what the phases below make of the unit with and without
       that, and keep it if more transfers overlap and more time is saved.
    2. *buffers*: rename a buffer, or expand it in a loop, one step at a time.  Keep the step if
       what the phases below make of it gains.
    3. *starts* to *departures*, all in ``overlap.Overlap.of`` (below).
    4. *iterations*: rotate loops that end with receives, inline procedures that compute, take
       messages from queues behind the first work of the next iteration.  Keep what gains.
    5. *tiles*: cut nests with their messages, then messages between two nests
       (``segmenting``), one after the other, each if it gains.

``overlap.Overlap.of``, with collective operations whole and in blocks; the better one is kept:

    3a. *starts*: make all blocking operations non-blocking, drop redundant stores, post the
        receives of a loop before it.
    3b. *windows*: split branches behind what starts a transfer, and move code into the overlap
        windows.  Branches stay whole unless windows get more work by the split: of all of them, or
        of the innermost ones.
    3c. *division*: one transformation after the other divides waits, nests and loops.  Each step is
        followed by *windows* and kept if a window gets more work and the unit is no slower.
    3d. *sharing*: share the interior of a nest among the windows that it could stand in.
    3e. A transfer whose window is empty now remains blocking: go back to 3a without it.  Where a
        branch gives work to one transfer whole and to another one split, both ways are followed to
        their ends, and the one that takes less time is kept.
    3f. *departures*: send what is still blocking from copies, where that gains.

A step gains if the unit takes less time on one network and more on none (``gain``): so a fast and a
slow network both limit copies, split nests and all steps together.  (Danalis et al., section 6,
report that their greedy order once cloned a buffer at a loss.)  With ``--judge simulation``, a
simulated run of the whole program decides instead.

All of this is done for any values of named constants.  If nests stay whole then, it is done again
with the values of small ones (``index_constants``).  If more transfers overlap by that, the unit
checks those that it takes (``_with_values``).

In the end, procedures that were inlined in vain are called again, and exchanges with work in their
windows become two calls (``final_form``).

The search ends when no transformation finds a step, when a round leads back to an earlier text, or
after ``phases.MOST_STEPS`` steps; ``Optimised.ended`` says which.  It also says what was tried and
why that was not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asphalt.analysis.call_graph.index_constants import index_constants
from asphalt.analysis.names.symbol import Identity
from asphalt.config.combining import Combining
from asphalt.frontend.source_tree.tree import Tree
from asphalt.gain.model import Model
from asphalt.ir.program import Located
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.caller_windows import stopped_at_calls
from asphalt.optimiser.dividing import divisible
from asphalt.optimiser.dropped import TOO_MANY, distinct, saves_less, unchanged_by_all, with_tried
from asphalt.optimiser.final_form.phases import in_phases
from asphalt.optimiser.final_form.restoring import with_calls_again
from asphalt.optimiser.first_steps import has_first_step, staying_exchanges, with_fewer
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import FIXPOINT as FIXPOINT
from asphalt.optimiser.outcome import Done as Done
from asphalt.optimiser.outcome import Dropped as Dropped
from asphalt.optimiser.outcome import Optimised, Transfer
from asphalt.optimiser.phases import MOST_STEPS
from asphalt.optimiser.preparation import Search
from asphalt.optimiser.program_starts import staying
from asphalt.optimiser.unchanged_units import why_doubted, why_no_names, why_not_read
from asphalt.optimiser.unit_state import Workshop
from asphalt.support.asked_assumptions import recorded_questions
from asphalt.support.garbage_collection import rare_collections
from asphalt.transforms.rewriting.checked_sizes import can_check

REPEATED = "further steps lead back to an earlier text"
Values = Mapping[str, tuple[Identity, int]]
"""Named constants: what identifies them, and their values, by their names in the unit."""


def optimised(shop: Workshop, first: Optimised | None = None) -> Optimised:
    """The best that the search makes of a unit, with fewer exchanges first.

    ``first``: what it makes of it in the first round, if that is known.
    """
    found = _optimised_with_fewer(shop, first)
    stay = tuple(staying_exchanges(shop))
    return with_tried(found, *stay) if stay else found


def _optimised_with_fewer(shop: Workshop, first: Optimised | None) -> Optimised:
    found = _after(with_fewer(shop), shop, first)
    started = with_fewer(shop, started=True)
    if started is None:
        return found
    more = _after(started, shop, None)
    prices = [shop.price(shop.after(one).tree) for one in (more, found)]
    asked = shop.options.combining is not Combining.AUTO
    return more if asked or prices[0].gains(prices[1]) else found


def _after(fewer: Optimised | None, shop: Workshop, first: Optimised | None) -> Optimised:
    """The best that the search makes of a unit behind its first steps, if there are any."""
    if fewer is None:
        return _in_rounds(shop, first)
    again = shop.after(fewer)
    if Search(again).why_unchanged() is not None:
        return fewer
    more = _in_rounds(again, None)
    if more.content is None:
        return replace(fewer, refused=more.refused, ended=more.ended, dropped=more.dropped)
    return replace(_joined(fewer, more), refused=more.refused)


def _in_rounds(shop: Workshop, first: Optimised | None) -> Optimised:
    """The best that the search makes of a unit, in rounds until one changes nothing."""
    found = shop.tidied(Search(shop).best() if first is None else first)
    seen = {shop.tree.content(shop.path)}
    while found.content is not None:
        seen.add(found.content)
        again = Search(shop.after(found))
        if again.why_unchanged() is not None:
            return found
        more = again.shop.tidied(again.best())
        if more.content in (None, found.content) or again.why_doubted() is not None:
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
    """The transfers of two rounds, each once, with all the work that it overlaps with.  What
    stopped a receive in the first round may not stop it any more."""
    all_ = [replace(one, stopped=None) for one in found]
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


_EVERYTHING = Options()
_ALONE = Context()


def optimise(
    tree: Tree, located: Located, options: Options = _EVERYTHING, context: Context = _ALONE
) -> Optimised:
    """The best that the passes make of a unit of a tree."""
    with recorded_questions() as asked:
        found = _optimised(tree, located, options, context)
    return replace(found, asked=frozenset(asked))


def _optimised(tree: Tree, located: Located, options: Options, context: Context) -> Optimised:
    key, searched = key_of(located), context.searched
    not_read = why_not_read(tree, *key)
    if not_read is not None:
        return Optimised(located.path, located.unit.name, None, (), (), (), not_read)
    known = None if searched is None else searched.taken(tree, key)
    shop, first = known or (Workshop(tree, *key, options, context), None)
    unchanged = _why_unchanged(shop)
    if unchanged is not None:
        return Optimised(located.path, located.unit.name, None, (), (), (), unchanged)
    with rare_collections():
        found = optimised(shop, first)
        found, shop = _with_values(shop, found)
        if options.least_gain is not None and saves_less(shop, found, options.least_gain):
            found = unchanged_by_all(shop, found)
        found = in_phases(shop, *with_calls_again(shop, found))
        doubt = why_doubted(tree, shop.path, shop.chain) if found.content is not None else None
        if doubt is not None:
            return Optimised(located.path, located.unit.name, None, (), (), (), doubt, doubt=doubt)
        own, stopped = staying(shop, found), stopped_at_calls(shop, found)
        sizes = _unknown_sizes(shop) if any(one.rests_on_sizes for one in found.dropped) else ()
        shop.known.forget()
        return replace(found, staying=own, whole=shop.whole, at_calls=stopped, sizes=sizes)


def _unknown_sizes(shop: Workshop) -> tuple[str, ...]:
    """The variables for whose values the prices of a unit take usual ones."""
    if not isinstance(shop.model, Model):
        return ()
    return shop.model.unknown_sizes(shop.first, shop.located(shop.first))


def _with_values(shop: Workshop, found: Optimised) -> tuple[Optimised, Workshop]:
    """The unit optimised once more, with the values of small constants in its subscripts and
    bounds, if more transfers overlap then; with its workshop.

    Without these values it is not known which part of a nest meets a halo of a named width.  The
    declarations of the unit then check them.
    """
    if not shop.undivided:
        return found, shop
    facts = shop.facts(shop.tree)
    values = index_constants(facts.scope)
    if not values or not can_check(facts):
        return found, shop
    nests = divisible(shop, _identities(values))
    if not nests:
        return found, shop
    again = shop.with_constants(_identities(values))
    more = optimised(again)
    again.known.forget()
    if more.content is None or len(more.transfers) <= len(found.transfers):
        return found, shop
    if again.price(again.tree_of(more)).loses(shop.price(shop.tree_of(found))):
        return found, shop
    needed = _needed(shop, more.content, values, nests)
    return again.checked(more, {name: values[name][1] for name in needed}), again


def _needed(shop: Workshop, content: bytes, values: Values, nests: frozenset[SourceLine]) -> Values:
    """The constants, of those with which the unit becomes this content, that it takes: those
    without which a nest stays whole, if one more search finds that they are enough; else all."""
    left = values
    for name in sorted(values):
        others = {n: v for n, v in left.items() if n != name}
        if nests <= divisible(shop, _identities(others)):
            left = others
    if len(left) == len(values):
        return values
    return left if optimised(shop.with_constants(_identities(left))).content == content else values


def _identities(values: Values) -> frozenset[Identity]:
    return frozenset(identity for identity, _ in values.values())


def _why_unchanged(shop: Workshop) -> str | None:
    """Why a unit stays as it is; None: the search has to find out."""
    if not has_first_step(shop) and next(staying_exchanges(shop), None) is None:
        return why_no_names(shop.facts(shop.tree).scope) or FIXPOINT
    return Search(shop).why_unchanged()
