"""What calls do that lead to no procedure of the program: of MPI, of intrinsic procedures."""

from __future__ import annotations

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.effects.argument_accesses import is_scalar_variable, whole
from asphalt.analysis.effects.assumed_calls import assumed_effect
from asphalt.analysis.effects.clocks import clock_effect
from asphalt.analysis.effects.intrinsic_calls import intrinsic_effect
from asphalt.analysis.memory.accesses import CalledAccess, CallEffect, EffectKind, Mode, NameKind
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import name_kind, storage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_function
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import AltReturn, Expr, Keyword, Ref, Section
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
        accesses = [
            access
            for arg in mpi.used(scope)
            for access in _element(arg, Mode.READ, mpi, scope) or whole(arg, Mode.READ, scope)
        ]
        for arg in mpi.defined(scope):
            sure = arg is mpi.error and mpi.binding != "unknown" and is_scalar_variable(arg, scope)
            mode = Mode.WRITE if sure else Mode.MAYBE_WRITE
            accesses += _element(arg, mode, mpi, scope) or whole(arg, mode, scope)
        quiet = library_row(mpi.procedure).quiet
        effects = [] if quiet else [(EffectKind.MPI, mpi.operation)]
        if mpi.anywhere(scope):
            effects.append((EffectKind.UNKNOWN_CALL, "MPI_BOTTOM"))
        known = call, CallEffect(tuple(accesses), tuple(effects))
        scope.call_effects[id(call)] = known
    found = known[1]
    assert isinstance(found, CallEffect)
    return found


def _element(arg: Expr, mode: Mode, mpi: MpiCall, scope: Scope) -> list[CalledAccess]:
    """The access to one element of an array of requests, where a call has one request."""
    if not isinstance(arg, Ref) or not arg.args:
        return []
    parameter = next((p for p, actual in mpi.bound() if actual is arg), None)
    if parameter is None or parameter.kind != "REQUEST" or parameter.array:
        return []
    if name_kind(arg.name, True, scope) is not NameKind.VARIABLE:
        return []
    subscripts = [e for e in arg.args if not isinstance(e, Section | Keyword | AltReturn)]
    if not all(is_scalar(e, scope) for e in subscripts) or len(subscripts) < len(arg.args):
        return []
    return [CalledAccess(storage_of(arg.name, scope), mode, tuple(subscripts))]
