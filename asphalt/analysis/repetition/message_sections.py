"""The accesses of statements, with the sections that both sides of MPI_SENDRECV transfer.

Both buffers of one call may be sections of one array.  MPI demands that they are disjoint (MPI-4.0
section 3.10); which elements they are follows from each side alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.mpi_buffers import touched_buffers
from asphalt.analysis.memory.storage import evaluated_storages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.procedures import procedure
from asphalt.ir.tree import Leaf, Node

BOTH_WAYS = "mpi_sendrecv"
_SIDES = {
    "mpi_send": {
        "buf": "sendbuf",
        "count": "sendcount",
        "datatype": "sendtype",
        "dest": "dest",
        "tag": "sendtag",
        "comm": "comm",
    },
    "mpi_recv": {
        "buf": "recvbuf",
        "count": "recvcount",
        "datatype": "recvtype",
        "source": "source",
        "tag": "recvtag",
        "comm": "comm",
    },
}


def sides_of_exchange(call: MpiCall) -> tuple[MpiCall, MpiCall] | None:
    """The send and the receive that MPI_SENDRECV does at once; None: it is another procedure."""
    if call.procedure.name != BOTH_WAYS:
        return None
    sides: list[MpiCall] = []
    for name, arguments in _SIDES.items():
        row = procedure(name)
        assert row is not None
        args = {mine: call.args[given] for mine, given in arguments.items()}
        sides.append(MpiCall(name, args, call.binding, None, row))
    return sides[0], sides[1]


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
    sides = sides_of_exchange(call)
    if sides is None:
        return ()
    facts = order.facts
    found: list[Access] = []
    for side in sides:
        own = touched_buffers(leaf, side, facts.scope, facts.values)
        if own is None or any(access.subscripts is None for access in own):
            return ()
        found += own
    buffers = {access.storage for access in found}
    return () if buffers & set(_beside(call, order)) else tuple(found)


def _beside(call: MpiCall, order: Independence) -> Iterator[str | None]:
    """The storages that the arguments have to do with, without the buffers themselves."""
    for parameter, actual in call.bound():
        storages = list(evaluated_storages(actual, order.facts.scope))
        yield from storages[parameter.kind == "BUFFER" :]
