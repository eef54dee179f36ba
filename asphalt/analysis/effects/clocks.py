"""Calls that read a clock: MPI_WTIME, CPU_TIME, SYSTEM_CLOCK and DATE_AND_TIME.

A reading has no effect besides its value (MPI-4.0 section 9.6; F2018 16.9.57, 16.9.59, 16.9.192).
It is an effect all the same, for its value says when it was executed: the detail of the effect is
the name of the unit that reads the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from asphalt.analysis.memory.accesses import CalledAccess, CallEffect, EffectKind, Mode
from asphalt.analysis.mpi.call import mpi_function
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import AltReturn, Arg, Expr, Ref, Section, argument_value
from asphalt.ir.stmt import Call

FUNCTION = "mpi_wtime"
SUBROUTINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cpu_time": ("time",),
        "date_and_time": ("date", "time", "zone", "values"),
        "system_clock": ("count", "count_rate", "count_max"),
    }
)
"""The intrinsic subroutines that read a clock, by folded name, with their dummies."""

_CONSTANT = frozenset({"count_rate", "count_max", "zone"})
"""The dummies that get the same value whenever a clock is read."""


def reads_by_function(ref: Ref, scope: Scope) -> bool:
    """Whether a function reference reads a clock."""
    return mpi_function(ref, scope) == FUNCTION


def clock_arguments(call: Call, scope: Scope) -> Mapping[str, Expr] | None:
    """The actual arguments by dummy of a call that reads a clock; None: it is another call."""
    procedure = call.procedure
    if not isinstance(procedure, Ref) or procedure.name not in SUBROUTINES:
        return None
    symbol = scope.lookup(procedure.name)
    if symbol is None or symbol.origin is not Origin.INTRINSIC:
        return None
    dummies = SUBROUTINES[procedure.name]
    found: dict[str, Expr] = {}
    for position, arg in enumerate(call.args):
        name = getattr(arg, "name", "") if arg is not argument_value(arg) else None
        value = argument_value(arg)
        if isinstance(value, Section | AltReturn) or position >= len(dummies):
            return None
        found[dummies[position] if name is None else name] = value
    return found if set(found) <= set(dummies) else None


def readings(call: Call, scope: Scope) -> tuple[Expr, ...]:
    """The variables that get what a clock says from a call of an intrinsic subroutine."""
    given = clock_arguments(call, scope) or {}
    return tuple(value for name, value in given.items() if name not in _CONSTANT)


def clock_effect(
    call: Call, scope: Scope, whole: Callable[[Arg, Mode, Scope], list[CalledAccess]]
) -> CallEffect | None:
    """The effect of a call that reads a clock; ``whole`` gives the accesses to an argument.  None:
    it is another call."""
    effects = ((EffectKind.CLOCK, scope.unit.name or "main"),)
    if isinstance(call.procedure, Ref) and reads_by_function(call.procedure, scope):
        return CallEffect((), effects)
    given = clock_arguments(call, scope)
    if given is None:
        return None
    accesses = (a for arg in given.values() for a in whole(arg, Mode.MAYBE_WRITE, scope))
    return CallEffect(tuple(accesses), effects)
