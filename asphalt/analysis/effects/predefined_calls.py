"""What calls do that lead to no procedure of the program: of MPI, of intrinsic procedures."""

from __future__ import annotations

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.argument_accesses import is_scalar_variable, whole
from asphalt.analysis.effects.assumed_calls import assumed_effect
from asphalt.analysis.effects.clocks import clock_effect
from asphalt.analysis.effects.intrinsic_calls import intrinsic_effect
from asphalt.analysis.memory.accesses import CallEffect, EffectKind, Mode
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_function
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Call


def predefined_effect(call: Call, assumed: Assumed, scope: Scope) -> CallEffect | None:
    """The effect of a call of MPI, of a clock, of an intrinsic procedure, or of one about which
    there is an assumption; None: it is none of these."""
    mpi = mpi_call(call, scope)
    if mpi is not None:
        return _mpi_effect(call, mpi, scope)
    clock = clock_effect(call, scope, whole)
    if clock is not None:
        return clock
    if isinstance(call.procedure, Ref) and mpi_function(call.procedure, scope) is not None:
        return CallEffect((), ((EffectKind.MPI, call.procedure.name),))
    found = assumed_effect(call, assumed, scope)
    return intrinsic_effect(call, scope) if found is None else found


def _mpi_effect(call: Call, mpi: MpiCall, scope: Scope) -> CallEffect:
    """The effect of a call of MPI, found once for each statement."""
    known = scope.call_effects.get(id(call))
    if known is None:
        accesses = [a for arg in mpi.used(scope) for a in whole(arg, Mode.READ, scope)]
        for arg in mpi.defined(scope):
            sure = arg is mpi.error and mpi.binding != "unknown" and is_scalar_variable(arg, scope)
            accesses += whole(arg, Mode.WRITE if sure else Mode.MAYBE_WRITE, scope)
        quiet = library_row(mpi.procedure).quiet
        effects = [] if quiet else [(EffectKind.MPI, mpi.operation)]
        if mpi.anywhere(scope):
            effects.append((EffectKind.UNKNOWN_CALL, "MPI_BOTTOM"))
        known = call, CallEffect(tuple(accesses), tuple(effects))
        scope.call_effects[id(call)] = known
    found = known[1]
    assert isinstance(found, CallEffect)
    return found
