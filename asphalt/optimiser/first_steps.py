"""The first steps of the search for a unit: whether there are any, and fewer exchanges.

Most procedures of a program that are looked at only call, through others, what communicates.
Everything that the search does begins with an MPI call of the unit, or with a step that prepares
it: where there is neither, nothing else is asked.
"""

from __future__ import annotations

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
from asphalt.config.passes import Pass
from asphalt.ir.tree import leaves
from asphalt.optimiser.outcome import FIXPOINT, Optimised
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import called_motion
from asphalt.transforms.rewriting.step import Phase


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
    """Whether a step is found."""
    wanted = any(one.name in shop.passes for one in PHASES[Phase.EXCHANGES])
    return wanted and shop.next_step(shop.facts(shop.tree), PHASES[Phase.EXCHANGES]) is not None


def with_fewer(shop: Workshop) -> Optimised | None:
    """The unit with fewer exchanges; None: no step is found, or it would take longer."""
    if not has_fewer(shop):
        return None
    begin = UnitState(shop.tree, ())
    state = shop.closure(begin, PHASES[Phase.EXCHANGES])
    if shop.price(state.tree).loses(shop.price(begin.tree)):
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
        beside=dict(shop.known.beside(state.tree)),
    )
    return Overlap(shop).priced(found)
