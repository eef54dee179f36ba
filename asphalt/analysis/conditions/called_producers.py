"""Calls in front of an exchange that define what is sent, or what is copied into the send buffer.

call transform(a)                             ! the second one that is found
do k = 1, planes
  s(:,k,:) = a(:,k,:)
end do
call fill(s)                                  ! the first one
call MPI_Alltoall(s, ...)
"""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, Leaf


def producing_call(exchange: Exchange) -> Leaf | None:
    """The nearest call among the siblings of an exchange that writes its send buffer, or what loop
    nests behind it read to do so; None: something else defines it."""
    arguments = exchange.call.procedure.exchange
    send = None if arguments is None else buffer_of(exchange, arguments.send)
    if send is None or exchange.open_coded is not None:
        return None
    needed = {exchange.names.storage(send.name)} - {ALIASED}
    for node in reversed(exchange.place.siblings[: exchange.place.position]):
        footprint = examine((node,), exchange.names)
        if not needed & footprint.written():
            continue
        if isinstance(node, Leaf):
            return node if isinstance(node.what, Call) else None
        if not isinstance(node, Do):
            return None
        needed |= {storage for storage in footprint.read() if _is_array(storage, exchange)}
    return None


def _is_array(storage: str, exchange: Exchange) -> bool:
    symbol = exchange.scope.lookup(storage.rsplit("::", 1)[-1])
    return storage != ALIASED and (symbol is None or symbol.dims is not None)
