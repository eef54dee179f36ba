"""The accesses of statements, with the sections that both sides of MPI_SENDRECV transfer.

Both buffers of one call may be sections of one array.  MPI demands that they are disjoint (MPI-4.0
section 3.10); which elements they are follows from each side alone.
"""

from __future__ import annotations

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.effects.message_sides import BOTH_WAYS as BOTH_WAYS
from asphalt.analysis.effects.message_sides import buffer_sections
from asphalt.analysis.effects.message_sides import sides_of_exchange as sides_of_exchange
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.mpi.call import MpiCall
from asphalt.ir.tree import Leaf, Node


def accesses_of(node: Node, order: Independence) -> tuple[Access, ...] | None:
    """All that a statement or construct reads and writes, with the sections that MPI_SENDRECV
    transfers; None: unknown."""
    found = order.accesses(node)
    if found is None:
        return None
    for leaf, call in order.messages.calls(node):
        exact = _exact(leaf, call, order)
        if exact:
            known = {access.storage for access in exact}
            others = (a for a in found if a.leaf is not leaf or a.storage not in known)
            found = (*others, *exact)
    return found


def _exact(leaf: Leaf, call: MpiCall, order: Independence) -> tuple[Access, ...]:
    """The accesses of both sides to their buffers; (): not both are known."""
    if sides_of_exchange(call) is None:
        return ()
    return buffer_sections(leaf, call, order.facts.scope, order.facts.values)
