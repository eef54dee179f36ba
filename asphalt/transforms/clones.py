"""Copies of message buffers, and how long they may be."""

from __future__ import annotations

from asphalt.analysis.mpi_call import predefined_type
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import Expr
from asphalt.ir.tree import Leaf
from asphalt.limits import USUAL_CLONES

_MEBIBYTE = 2**20


def too_long(
    message: tuple[Expr, ...], leaf: Leaf, facts: UnitFacts, limit: int | None
) -> str | None:
    """Why no copy would be made of a buffer: it is known to be longer than all copies may be, or
    its elements may have gaps.

    ``message``: count and datatype; ``leaf``: where it is sent or received; ``limit``: MiB, None:
    as usual.  Where the count is not known, the run-time module sees to the limit.
    """
    count, datatype = message
    most = USUAL_CLONES if limit is None else limit
    known = predefined_type(datatype, facts.scope)
    if known is None or known.bytes is None:
        return f"{facts.at(leaf)}: a datatype that may have gaps"
    number = facts.values.constants(count).value
    if most == 0 or (number is not None and number * known.bytes > most * _MEBIBYTE):
        return f"{facts.at(leaf)}: a copy is longer than {most} MiB"
    return None
