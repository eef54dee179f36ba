"""The first steps of the search for a unit: whether there are any, and fewer exchanges.

Most procedures of a program that are looked at only call, through others, what communicates.
Everything that the search does begins with an MPI call of the unit, or with a step that prepares
it: where there is neither, nothing else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.exchange.site import statements
from asphalt.analysis.inlining.procedure import is_candidate, is_movable
from asphalt.analysis.messages.collectives import nonblocking_form
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.procedures import MpiProcedure
from asphalt.analysis.requests.matching import is_blocking_transfer
from asphalt.analysis.requests.operations import deals_with_requests
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.combining import Combining
from asphalt.config.passes import Pass
from asphalt.ir.tree import leaves
from asphalt.optimiser.dropped import distinct, not_kept, with_dropped
from asphalt.optimiser.outcome import FIXPOINT, Dropped, Optimised
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import MOST_STEPS, PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.exchanges import combination, joining, removal
from asphalt.transforms.inlining import calls_together
from asphalt.transforms.motion import called_motion
from asphalt.transforms.rewriting.step import Phase, Step


def has_first_step(shop: Workshop) -> bool:
    """Whether a transformation may have something to begin with in the unit of a workshop."""
    facts = shop.facts(shop.tree)
    scope = facts.scope
    own = (leaf.call for node in scope.unit.body for leaf in leaves(node))
    calls = (mpi_call(call, scope) for call in own if call is not None)
    if any(_communicates(call) for call in calls if call is not None):
        return True
    if has_fewer(shop):
        return True
    if Pass.MOTION in shop.passes and any(called_motion.check(facts)):
        return True
    if Pass.INLINE not in shop.passes or not _may_be_inlined(facts):
        return False
    return shop.next_step(facts, PHASES[Phase.PREPARATION]) is not None


def _communicates(call: MpiCall) -> bool:
    """Whether a call may be changed, or may begin or end an overlap window."""
    return call.binding == "runtime" or _is_asked_about(call.procedure)


def _is_asked_about(procedure: MpiProcedure) -> bool:
    return (
        is_blocking_transfer(procedure)
        or deals_with_requests(procedure)
        or nonblocking_form(procedure) is not None
    )


def _may_be_inlined(facts: UnitFacts) -> bool:
    """Whether the unit calls a procedure that communicates and could be inlined somewhere."""
    scopes, known = facts.effects.scopes, set[UnitKey]()
    for leaf, _ in statements(facts.unit.body):
        target = None if leaf.call is None else invoked(leaf.call, facts.scope)
        if target is None or unit_key(target[0]) in known:
            continue
        known.add(unit_key(target[0]))
        if is_candidate(target[0], scopes) and is_movable(target[0], facts.located, scopes):
            return True
    return False


def has_fewer(shop: Workshop) -> bool:
    """Whether a step is found that makes fewer exchanges of the unit as it stands."""
    wanted = any(one.name in shop.passes for one in PHASES[Phase.EXCHANGES])
    return wanted and shop.next_step(shop.facts(shop.tree), PHASES[Phase.EXCHANGES]) is not None


def with_fewer(shop: Workshop, *, started: bool = False) -> Optimised | None:
    """The unit with fewer exchanges; None: none can be spared, or it would take longer.

    Those that repeat an earlier one go first.  Others are combined as they stand, and where
    procedures that exchange are inlined; the procedures stay where that does not gain.
    ``started``: with those that are written as starts and waits, whose calls wait one after the
    other then; whether it takes longer only shows when these overlap.  None: there are none.
    """
    if not any(one.name in shop.passes for one in PHASES[Phase.EXCHANGES]):
        return None
    begin = UnitState(shop.tree, ())
    state = shop.closure(begin, (removal.TRANSFORMATION,))
    if Pass.COMBINATION in shop.passes:
        state = _with_started(shop, state) if started else _with_calls(shop, state)
    elif started:
        return None
    if state.tree is begin.tree:
        return None
    judged = not started and shop.options.combining is Combining.AUTO
    if judged and shop.price(state.tree).loses(shop.price(begin.tree)):
        return None
    found = Optimised(
        shop.path,
        shop.chain[-1],
        state.tree.content(shop.path),
        state.steps,
        (),
        (),
        FIXPOINT,
        trees=state.trees,
        dropped=distinct(state.dropped, state.steps),
        beside=dict(shop.known.beside(state.tree)),
    )
    return shop.tidied(Overlap(shop).priced(found))


def staying_exchanges(shop: Workshop) -> Iterator[Dropped]:
    """The exchanges of the unit that repeat an earlier one and stay, with the reason."""
    if Pass.REMOVAL not in shop.passes:
        return
    for found in removal.check(shop.facts(shop.tree)):
        if isinstance(found, Refused) and found.span is not None:
            place = shop.given(shop.place(shop.tree, found.span.first))
            does, _, why = found.message.partition(", and stays: ")
            yield Dropped(Pass.REMOVAL, does, place, f"{why} ({found.code.id})")


def _with_calls(shop: Workshop, state: UnitState) -> UnitState:
    """The state with calls combined that exchange, inlined where that gains."""
    state = _combined(shop, state)
    if Pass.INLINE in shop.passes:
        inlined = shop.closure(state, (calls_together.TRANSFORMATION,))
        more = state if inlined.tree is state.tree else _combined(shop, inlined)
        some = len(more.steps) > len(inlined.steps)
        if some and _is_kept(shop, state, more):
            state = more
    return state


def _with_started(shop: Workshop, state: UnitState) -> UnitState:
    """The state with exchanges combined that are written as starts and waits; an empty one if there
    are none."""
    inlined = state
    if Pass.INLINE in shop.passes:
        inlined = shop.closure(state, (calls_together.TRANSFORMATION,))
    joined = shop.closure(inlined, (joining.TRANSFORMATION,))
    if joined.tree is inlined.tree:
        return UnitState(shop.tree, ())
    more = _combined(shop, joined)
    return more if len(more.steps) > len(joined.steps) else UnitState(shop.tree, ())


def _is_kept(shop: Workshop, state: UnitState, more: UnitState) -> bool:
    """Whether exchanges are combined: where that gains, or without being asked what it costs."""
    if shop.options.combining is not Combining.AUTO:
        return True
    return shop.price(more.tree).gains(shop.price(state.tree))


def _combined(shop: Workshop, state: UnitState) -> UnitState:
    """The state with exchanges combined, each group if that gains or all are asked for."""
    tried: set[str] = set()
    hidden = shop.options.combining is Combining.HIDDEN
    while len(state.steps) < MOST_STEPS:
        facts = shop.facts(state.tree)
        steps = (s for s in combination.check(facts, hidden=hidden) if isinstance(s, Step))
        step = next((s for s in steps if s.does not in tried), None)
        if step is None:
            break
        more = shop.applied(state, facts, combination.TRANSFORMATION, step)
        prices = shop.price(state.tree), shop.price(more.tree)
        if _is_kept(shop, state, more):
            state = more
            continue
        tried.add(step.does)
        lost = not_kept(shop, state.tree, Pass.COMBINATION, step, prices)
        state = with_dropped(state, lost)
    return state
