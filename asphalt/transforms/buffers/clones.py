"""Copies of message buffers, and how long they may be."""

from __future__ import annotations

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.constants import constant, element_bytes
from asphalt.config.limits import USUAL_CLONES
from asphalt.ir.expr import Expr
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Leaf, leaves

OWN = "for a transfer of its own"
"""What the comment at the declaration of a buffer says that was made like another one."""
_MEBIBYTE = 2**20


def too_long(
    message: tuple[Expr, ...], leaf: Leaf, facts: UnitFacts, limit: int | None
) -> str | None:
    """Why no copy would be made of a buffer: it is known to be longer than all copies may be, or
    its elements may have gaps.

    ``message``: count and datatype; ``leaf``: where it is sent or received; ``limit``: MiB, None:
    the usual one.  If the count is not known, the runtime keeps the limit.
    """
    count, datatype = message
    most = USUAL_CLONES if limit is None else limit
    known = datatype_of(datatype, facts.scope)
    if known is None or known.bytes is None:
        return f"{facts.at(leaf)}: a datatype that may have gaps"
    number = facts.values.constants(count).value
    if most == 0 or (number is not None and number * known.bytes > most * _MEBIBYTE):
        return f"{facts.at(leaf)}: a copy is longer than {most} MiB"
    return None


def array_bytes(name: str, facts: UnitFacts) -> int | None:
    """The bytes of an array of the unit, with the sizes that constants have now; None: they are
    not known before it runs."""
    symbol = facts.scope.lookup(name)
    size = None if symbol is None else element_bytes(symbol, facts.scope)
    if symbol is None or size is None:
        return None
    now = facts.scope_of_these_sizes
    for dim in symbol.dims or ():
        first = 1 if dim.lower is None else constant(dim.lower, now)
        last = constant(dim.upper, now)
        if first is None or last is None:
            return None
        size *= max(0, last - first + 1)
    return size


def has_room(name: str, facts: UnitFacts, limit: int | None) -> bool:
    """Whether another array like one of the unit keeps to the limit, together with those that are
    marked as ``OWN``.

    A size that is not known before the program runs counts as nothing, unless there may be no
    copies at all.  ``limit``: MiB; None: the usual one.
    """
    most = USUAL_CLONES if limit is None else limit
    there = (
        entity.name
        for node in facts.unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Decl) and any(OWN in line.text for line in leaf.lead)
        for entity in leaf.what.entities
    )
    sizes = (array_bytes(one, facts) or 0 for one in (name, *there))
    return most > 0 and sum(sizes) <= most * _MEBIBYTE
