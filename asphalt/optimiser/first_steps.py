"""Whether the search for a unit can find anything at all.

Most procedures of a program that are looked at only call, through others, what communicates.
Everything that the search does begins with an MPI call of the unit, or with a step that prepares
it: where there is neither, nothing else is asked.
"""

from __future__ import annotations

from asphalt.analysis.messages.collectives import nonblocking_form
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.procedures import MpiProcedure
from asphalt.analysis.requests.matching import is_blocking_transfer
from asphalt.analysis.requests.operations import deals_with_requests
from asphalt.config.passes import Pass
from asphalt.ir.tree import leaves
from asphalt.optimiser.phases import PHASES
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.inlining import inline
from asphalt.transforms.rewriting.step import Phase


def has_first_step(shop: Workshop) -> bool:
    """Whether a transformation may have something to begin with in the unit of a workshop."""
    facts = shop.facts(shop.tree)
    scope = facts.scope
    own = (leaf.call for node in scope.unit.body for leaf in leaves(node))
    calls = (mpi_call(call, scope) for call in own if call is not None)
    if any(_communicates(call) for call in calls if call is not None):
        return True
    if Pass.INLINE not in shop.passes or not inline.may_find(facts):
        return False
    begin = UnitState(shop.tree, ())
    return shop.closure(begin, PHASES[Phase.PREPARATION]).tree is not begin.tree


def _communicates(call: MpiCall) -> bool:
    """Whether a call may be changed, or may begin or end an overlap window."""
    return call.binding == "runtime" or _is_asked_about(call.procedure)


def _is_asked_about(procedure: MpiProcedure) -> bool:
    return (
        is_blocking_transfer(procedure)
        or deals_with_requests(procedure)
        or nonblocking_form(procedure) is not None
    )
