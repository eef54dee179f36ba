"""The sections that messages between two ranks transfer: those of both sides of MPI_SENDRECV, too.

Both buffers of one call may be sections of one array.  MPI demands that they are disjoint (MPI-4.0
section 3.10); which elements they are follows from each side alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.mpi_buffers import touched_buffers
from asphalt.analysis.memory.storage import evaluated_storages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.tree import Leaf

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


def buffer_sections(leaf: Leaf, call: MpiCall, scope: Scope, values: Values) -> tuple[Access, ...]:
    """The accesses of a call to its buffers, each with the section that contains it; (): not all
    are known, or other arguments have to do with a buffer."""
    found: list[Access] = []
    for side in sides_of_exchange(call) or (call,):
        own = touched_buffers(leaf, side, scope, values)
        if own is None or any(access.subscripts is None for access in own):
            return ()
        found += own
    buffers = {access.storage for access in found}
    return () if buffers & set(_beside(call, scope)) else tuple(found)


def _beside(call: MpiCall, scope: Scope) -> Iterator[str | None]:
    """The storages that the arguments have to do with, without the buffers themselves."""
    for parameter, actual in call.bound():
        storages = list(evaluated_storages(actual, scope))
        yield from storages[parameter.kind == "BUFFER" :]
