"""What a program names of MPI, in whatever way it calls it.

Statements call a procedure by its name, or by another name that a ``USE`` statement or a generic
interface gives it; a procedure may be passed on, or be the target of a pointer; and files of other
languages have calls of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from asphalt.analysis.mpi.procedures import MpiProcedure, procedure, table
from asphalt.analysis.mpi.runtime_module import RUNTIME_MODULES
from asphalt.ir.program import Program

_HEADER = "mpi.h"


def is_named(program: Program, name: str) -> bool:
    """Whether Fortran units, those of the runtime aside, or files of other languages contain an
    identifier; ``name``: folded.  The header of MPI (MPI-4.0 section 2.6.3) declares, and calls
    nothing."""
    if any(os.path.basename(path) != _HEADER for path in program.foreign_files_with(name)):
        return True
    return any(
        place.is_unread or place.chain[0].name not in RUNTIME_MODULES
        for place in program.mentions(name)
    )


def first_named(program: Program, asked: Callable[[MpiProcedure], bool]) -> str | None:
    """The first procedure of MPI that a program may call, of those that are asked about (as the
    standard spells it); None: there is none."""
    for mention in program.mpi_calls():
        called = procedure(mention.operation)
        if called is not None and asked(called):
            return called.spelled
    for one in table().values():
        names = (one.name, f"p{one.name}")
        if asked(one) and any(is_named(program, name) for name in names):
            return one.spelled
    return None
