"""Memory that several ranks may share, unknown to MPI.

A program obtains such memory from C, as a segment that it maps: as the address in a ``C_PTR`` or
in a Cray pointer, or as the target of a pointer that a C function associates (F2018 18.3.6).  C may
also map a segment over a variable whose address it is given, or call a procedure with it.
"""

from __future__ import annotations

from asphalt.analysis.names.scopes import Scopes
from asphalt.ir.program import Program

_WITH_C = ("c_f_pointer", "c_loc", "bind")
"""What converts addresses, and what declares procedures in C."""
_MAPPING = ("mmap", "shmat")
"""The functions of POSIX that give the address of a segment."""


def may_share_memory(program: Program) -> bool:
    """Whether a variable may be memory that MPI does not know, and another rank does."""
    if any(program.mentions(name) for name in _WITH_C) or _has_cray_pointers(program):
        return True
    return any(program.foreign_files_with(name) for name in _MAPPING)


def _has_cray_pointers(program: Program) -> bool:
    scopes = Scopes(program)
    return any(
        "cray_pointer" in symbol.attrs
        for located in program.mentions("pointer")
        for symbol in scopes.of(located).own.values()
    )
