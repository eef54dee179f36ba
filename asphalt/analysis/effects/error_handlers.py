"""Whether the errors of all MPI calls of a program are fatal, so that no call returns one.

Communicators and windows have the error handler MPI_ERRORS_ARE_FATAL unless the program sets
another (MPI-4.0 section 9.3).  Then a call that fails does not return, and one that returns has
stored MPI_SUCCESS, which is 0 (section 9.4).

Files have MPI_ERRORS_RETURN (section 14.7), and the user's callbacks (of an attribute, a
generalized request) return codes of their own: nothing is known of these codes.
"""

from __future__ import annotations

from functools import cache

from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.whole_program import is_closed
from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, table
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES

SUCCESS = "mpi_success"
_OWN_CODES = frozenset({"mpi_buffer_detach"})  # Open MPI 4.1: an error that is not fatal
_CALLED_UNSEEN = ("final", "formatted", "unformatted")


def why_errors_return(effects: Effects) -> str | None:
    """Why an MPI call of a program may return another code than MPI_SUCCESS; None: no call does."""
    return effects.once(_why_errors_return)


def _why_errors_return(effects: Effects) -> str | None:
    program = effects.scopes.program
    for procedure in _with_other_codes():
        for name in (procedure.name, f"p{procedure.name}"):
            places = program.mentions(name)
            if any(place.chain[0].name not in RUNTIME_MODULES for place in places):
                return f"errors may not be fatal: the program calls {procedure.spelled}"
    if any(program.mentions(name) for name in _CALLED_UNSEEN):
        return "errors may not be fatal: finalizers, input and output may call procedures"
    if not is_closed(effects):
        return "errors may not be fatal: a part of the program is unknown"
    return None


@cache
def _with_other_codes() -> tuple[MpiProcedure, ...]:
    """The procedures that set an error handler, or after which other codes may occur.

    A user's callback returns a code to the library, and may store one that no call shows.
    """
    return tuple(
        procedure
        for procedure in table().values()
        if procedure.name in _OWN_CODES
        or any(p.kind.endswith("FUNCTION") for p in procedure.parameters)
        or any(p.kind == "ERRHANDLER" and p.direction is Direction.IN for p in procedure.parameters)
        or (is_of_file(procedure) and any(p.kind == "REQUEST" for p in procedure.parameters))
    )


def is_of_file(procedure: MpiProcedure) -> bool:
    """Whether a procedure operates on a file, whose errors are returned."""
    return procedure.name.startswith("mpi_file_") or any(
        p.kind == "FILE" for p in procedure.parameters
    )
