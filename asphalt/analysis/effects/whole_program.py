"""Whether all that a program does is seen."""

from __future__ import annotations

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.procedures import procedure, procedures_with
from asphalt.analysis.mpi.standard.row import CONNECTS


def is_closed(effects: Effects) -> bool:
    """Whether all that a program does is seen: it has a main program, no call goes to where
    nothing is known, and no other program is connected to it."""
    program = effects.scopes.program
    mains = program.main_programs()
    others = procedures_with(CONNECTS)
    if not mains or any(_operation(m.operation) in others for m in program.mpi_calls()):
        return False
    return not any(
        effect.kind in (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE)
        for main in mains
        for effect in examine(main.unit.body, effects.names(effects.scopes.of(main))).effects
    )


def _operation(name: str) -> str:
    found = procedure(name)
    return name if found is None else found.name
