"""Calls whose results tell which operations are complete, or which messages are there.

Usually such results depend on time, and a program has to take each of them.  But an operation that
another rank starts only after it has heard from this one is certainly not complete before: its
MPI_TEST gives false in each execution.  Started earlier, it may be complete.  This is why no rank
starts an operation earlier than the completion of another one in a program that polls.

A receive that is posted earlier completes nothing earlier but a synchronous send (MPI-4.0 section
3.4): standard sends may be complete before their receives are posted, so that no program can count
on the contrary.
"""

from __future__ import annotations

from asphalt.analysis.messages.named_anywhere import first_named
from asphalt.analysis.mpi.library_effects import is_synchronous_mode, probes, receives
from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, Timing
from asphalt.ir.program import Program

_TOLD = frozenset({"LOGICAL", "INDEX", "ARRAY_LENGTH"})
_CANCELS = frozenset({"mpi_cancel", "mpi_test_cancelled"})
"""A send that has not started cannot take the message of a receive that is cancelled (3.8.4)."""
_BUFFERED = frozenset({"mpi_bsend", "mpi_ibsend", "mpi_bsend_init"})


def polls(procedure: MpiProcedure) -> bool:
    """Whether the results of a procedure tell which operations are complete, or whether a message
    is there (MPI-4.0 sections 3.7.3 to 3.8, 4.2.2)."""
    told = any(p.direction is Direction.OUT and p.kind in _TOLD for p in procedure.parameters)
    looks = procedure.timing is Timing.COMPLETING or probes(procedure) or receives(procedure)
    return (told and looks) or procedure.name in _CANCELS


def polling(program: Program) -> str | None:
    """The first procedure of MPI by which the program polls (as the standard spells it); None:
    there is none."""
    return first_named(program, polls)


def has_synchronous_sends(program: Program) -> bool:
    """Whether a send of the program is complete only when its receive has begun."""
    return first_named(program, is_synchronous_mode) is not None


def buffered_send(program: Program) -> str | None:
    """The first procedure of MPI by which the program sends from a buffer that it has attached (as
    the standard spells it); None: there is none.

    Such a send is an error where the buffer has no room, and a message leaves it when it is
    received (3.6.1): who is told of a receive before it is complete may send too early.
    """
    return first_named(program, lambda procedure: procedure.name in _BUFFERED)
