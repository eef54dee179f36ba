"""Corrects the line of a call if the compiler's debugging information is wrong.

For calls with optional arguments only (MPI_Init and MPI_Finalize of the MPI modules), gfortran
records the first line of the program unit, at any level of optimisation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.source_text import form_by_content
from asphalt.frontend.source_tree.outline import Outline, Request, outline

# suffixes that mpi_f08 bindings and compilers add to a procedure's name
_BEHIND = re.compile(r"(?:_f08(?:ts)?)?_*$")


def line_of_call(path: Path, line: int, callee: str) -> int | None:
    """The line at which the unit that begins on ``line`` calls ``callee``.

    ``line`` itself if no unit begins there.  None if the line is unknown: the unit calls ``callee``
    on several lines, or under another name.
    """
    found = _outline(str(path))
    units = () if found is None else found.units
    unit = next((unit for unit in units if unit.first == line and unit.last > line), None)
    if unit is None:
        return line
    name = _BEHIND.sub("", callee.lower()).rpartition("::")[2]
    lines = {call.line for call in unit.calls if call.name.lower() == name}
    return lines.pop() if len(lines) == 1 else None


@lru_cache(maxsize=64)
def _outline(path: str) -> Outline | None:
    try:
        content = Path(path).read_bytes()
        form = form_by_content(path, content.decode("latin-1"))
        return outline(Request(path, content, form, None, (), ()))
    except (OSError, InputError):
        return None
